#include "rules/request/country_database.h"

#include <maxminddb.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace weir {
namespace {

// Enough to reach the first networks of any real database. Also a bound for a tree with a cycle.
constexpr int kNodesProbed = 4096;

std::string_view country_of(MMDB_entry_s& entry) {
  constexpr std::array<const char*, 3> kPath = {"country", "iso_code", nullptr};
  MMDB_entry_data_s found{};
  const int status = MMDB_aget_value(&entry, &found, kPath.data());
  const bool is_code = status == MMDB_SUCCESS && found.has_data &&
                       found.type == MMDB_DATA_TYPE_UTF8_STRING && found.data_size == 2;
  return is_code ? std::string_view(found.utf8_string, found.data_size) : std::string_view();
}

MMDB_lookup_result_s look_up(const MMDB_s& database, const sockaddr* address) {
  int status = MMDB_SUCCESS;
  const MMDB_lookup_result_s result = MMDB_lookup_sockaddr(&database, address, &status);
  return status == MMDB_SUCCESS ? result : MMDB_lookup_result_s{};
}

MMDB_lookup_result_s look_up(const MMDB_s& database, const IpAddress& address) {
  const IpAddress::Bytes& bytes = address.bytes();
  if (address.is_v4()) {
    sockaddr_in socket_address{};
    socket_address.sin_family = AF_INET;
    std::memcpy(&socket_address.sin_addr, &bytes[12], sizeof(socket_address.sin_addr));
    return look_up(database, reinterpret_cast<const sockaddr*>(&socket_address));
  }
  sockaddr_in6 socket_address{};
  socket_address.sin6_family = AF_INET6;
  std::memcpy(&socket_address.sin6_addr, bytes.data(), bytes.size());
  return look_up(database, reinterpret_cast<const sockaddr*>(&socket_address));
}

}  // namespace

struct CountryDatabase::File {
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (status == MMDB_SUCCESS) MMDB_close(&database);
  }

  MMDB_s database{};
  int status = MMDB_FILE_OPEN_ERROR;
};

CountryDatabase::CountryDatabase(std::unique_ptr<File> file) : file_(std::move(file)) {}

CountryDatabase::~CountryDatabase() = default;

Result<CountryDatabase::Ptr, Fault> CountryDatabase::open(const std::string& path) {
  auto file = std::make_unique<File>();
  file->status = MMDB_open(path.c_str(), MMDB_MODE_MMAP, &file->database);
  if (file->status == MMDB_FILE_OPEN_ERROR) return Fault{"it cannot be opened"};
  if (file->status != MMDB_SUCCESS) {
    return Fault{std::string("it is no database in MaxMind's format, or not all of one (") +
                 MMDB_strerror(file->status) + ")"};
  }
  const std::string type = file->database.metadata.database_type;
  const Ptr opened(new CountryDatabase(std::move(file)));
  if (!opened->knows_countries()) {
    return Fault{"no country is in it, since it is of the type '" + type +
                 "'; take one such as GeoLite2-Country"};
  }
  return opened;
}

// Whether one of the first networks in the file has a country.
bool CountryDatabase::knows_countries() const {
  std::vector<std::uint64_t> left = {0};  // nodes to look at, the next one last
  for (int probed = 0; probed < kNodesProbed && !left.empty(); ++probed) {
    MMDB_search_node_s node{};
    const auto number = static_cast<std::uint32_t>(left.back());
    left.pop_back();
    if (MMDB_read_node(&file_->database, number, &node) != MMDB_SUCCESS) return false;
    const auto is_country = [](int type, MMDB_entry_s& entry) {
      return type == MMDB_RECORD_TYPE_DATA && !country_of(entry).empty();
    };
    if (is_country(node.left_record_type, node.left_record_entry)) return true;
    if (is_country(node.right_record_type, node.right_record_entry)) return true;
    const auto add = [&](int type, std::uint64_t record) {
      if (type == MMDB_RECORD_TYPE_SEARCH_NODE) left.push_back(record);
    };
    add(node.right_record_type, node.right_record);
    add(node.left_record_type, node.left_record);
  }
  return false;
}

std::string_view CountryDatabase::country(const IpAddress& address) const {
  MMDB_lookup_result_s result = look_up(file_->database, address);
  return result.found_entry ? country_of(result.entry) : std::string_view();
}

}  // namespace weir
