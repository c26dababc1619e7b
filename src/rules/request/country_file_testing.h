// country_file(): small databases in MaxMind's format, for tests.
//
// Such a file is a binary tree over the bits of addresses, 16 zero bytes, the data to which the
// tree refers, and metadata after a marker. IPv4 addresses are in ::/96.
//
// Thread rule: any thread. Tested by country_database_test.cc, which reads the files.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/ip_address.h"

namespace weir {

struct CountryNetwork {
  std::string_view address;  // the first host's
  unsigned bits;             // in the address's family
  std::string_view country;
};

namespace country_file_detail {

// A value's type and size in one byte: REQUIRES: both small.
inline std::string tagged(int type, std::size_t size, std::string_view bytes = {}) {
  WEIR_ASSERT(size < 29);
  std::string text(1, static_cast<char>((type <= 7 ? type << 5 : 0) | static_cast<int>(size)));
  if (type > 7) text += static_cast<char>(type - 7);
  return text.append(bytes);
}

inline std::string text(std::string_view bytes) { return tagged(2, bytes.size(), bytes); }
inline std::string map(std::size_t size) { return tagged(7, size); }

inline std::string number(int type, std::uint64_t value) {
  std::string bytes;
  for (; value != 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value & 0xff));
  return tagged(type, bytes.size(), bytes);
}

class Tree {
 public:
  void add(const IpAddress& address, unsigned bits, std::size_t data_offset) {
    IpAddress::Bytes bytes = address.bytes();
    if (address.is_v4()) {
      bytes[10] = bytes[11] = 0;
      bits += 96;
    }
    std::size_t node = 0;
    for (unsigned i = 0; i < bits; ++i) {
      const std::size_t side = (bytes[i / 8] >> (7 - i % 8)) & 1;
      if (i + 1 == bits) {
        nodes_[node][side] = -1 - static_cast<std::int64_t>(data_offset);
        return;
      }
      if (nodes_[node][side] == 0) {
        nodes_[node][side] = static_cast<std::int64_t>(nodes_.size());
        nodes_.push_back({});
      }
      node = static_cast<std::size_t>(nodes_[node][side]);
    }
  }

  std::size_t size() const { return nodes_.size(); }

  // Two records of 24 bits for each node: another node; the number of nodes for nothing; above
  // that, the place of the data plus 16.
  std::string bytes() const {
    std::string bytes;
    const auto count = static_cast<std::int64_t>(nodes_.size());
    for (const auto& node : nodes_) {
      for (const std::int64_t record : node) {
        const std::int64_t value = record > 0 ? record : record == 0 ? count : count + 15 - record;
        for (const int shift : {16, 8, 0}) bytes += static_cast<char>((value >> shift) & 0xff);
      }
    }
    return bytes;
  }

 private:
  // Another node's index; 0 for nothing, as the root is no child; -1 - offset of data.
  std::vector<std::array<std::int64_t, 2>> nodes_{1};
};

}  // namespace country_file_detail

// REQUIRES: no network contains another
inline std::string country_file(std::span<const CountryNetwork> networks,
                                std::string_view property = "country") {
  using namespace country_file_detail;
  Tree tree;
  std::string data;
  for (const CountryNetwork& network : networks) {
    tree.add(*IpAddress::parse(network.address), network.bits, data.size());
    data += map(1) + text(property) + map(1) + text("iso_code") + text(network.country);
  }
  constexpr int kUint16 = 5;
  constexpr int kUint32 = 6;
  constexpr int kUint64 = 9;
  constexpr int kArray = 11;
  const std::string metadata =
      map(9) + text("node_count") + number(kUint32, tree.size()) + text("record_size") +
      number(kUint16, 24) + text("ip_version") + number(kUint16, 6) + text("database_type") +
      text("Test-Country") + text("languages") + tagged(kArray, 0) +
      text("binary_format_major_version") + number(kUint16, 2) +
      text("binary_format_minor_version") + number(kUint16, 0) + text("build_epoch") +
      number(kUint64, 1) + text("description") + map(0);
  return tree.bytes() + std::string(16, '\0') + data + "\xab\xcd\xefMaxMind.com" + metadata;
}

}  // namespace weir
