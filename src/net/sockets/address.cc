#include "net/sockets/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/decimal.h"

namespace weir {
namespace {

constexpr std::string_view kUnixScheme = "unix:";

StartError bad_address(std::string_view text) {
  return {"'" + std::string(text) +
          "' is no address to listen on; write HOST:PORT with an IP address or localhost, "
          "as in 127.0.0.1:8080 or [::1]:8080, or unix:/absolute/path"};
}

}  // namespace

std::optional<IpAddress> ip_address_of(const sockaddr* place) {
  const auto bytes_at = [](const auto& address) {
    std::array<std::uint8_t, sizeof(address)> bytes;
    std::memcpy(bytes.data(), &address, sizeof(address));
    return bytes;
  };
  switch (place->sa_family) {
    case AF_INET:
      return IpAddress::v4(bytes_at(reinterpret_cast<const sockaddr_in*>(place)->sin_addr));
    case AF_INET6:
      return IpAddress::v6(bytes_at(reinterpret_cast<const sockaddr_in6*>(place)->sin6_addr));
    default: return std::nullopt;
  }
}

std::variant<Address, StartError> Address::parse(std::string_view text) {
  if (text.starts_with(kUnixScheme)) return parse_path(text.substr(kUnixScheme.size()));
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text);
  const auto port = read_port(text.substr(colon + 1));
  auto host = std::string(text.substr(0, colon));
  if (!port) return bad_address(text);

  auto address = Address();
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    address.storage_.v6.sin6_family = AF_INET6;
    address.storage_.v6.sin6_port = htons(*port);
    if (::inet_pton(AF_INET6, host.c_str(), &address.storage_.v6.sin6_addr) == 1) return address;
    return bad_address(text);
  }
  address.storage_.v4.sin_family = AF_INET;
  address.storage_.v4.sin_port = htons(*port);
  if (::inet_pton(AF_INET, host.c_str(), &address.storage_.v4.sin_addr) == 1) return address;
  return bad_address(text);
}

std::variant<Address, StartError> Address::parse_path(std::string_view path) {
  auto address = Address();
  auto& place = address.storage_.unix_path;
  const bool is_file =
      path.starts_with('/') && !path.ends_with('/') && path.find('\0') == std::string_view::npos;
  if (!is_file) return bad_address(std::string(kUnixScheme).append(path));
  if (path.size() >= sizeof(place.sun_path)) {
    return StartError{"the path of a Unix socket is " + std::to_string(path.size()) +
                      " bytes long; the system takes at most " +
                      std::to_string(sizeof(place.sun_path) - 1)};
  }
  place.sun_family = AF_UNIX;
  std::ranges::copy(path, place.sun_path);  // its end is zero already
  return address;
}

Address Address::of_socket(int socket) {
  auto address = Address();
  socklen_t size = sizeof(address.storage_);
  WEIR_ASSERT(::getsockname(socket, &address.storage_.generic, &size) == 0);
  return address;
}

socklen_t Address::size() const {
  switch (family()) {
    case AF_UNIX: return sizeof(sockaddr_un);
    case AF_INET6: return sizeof(sockaddr_in6);
    default: return sizeof(sockaddr_in);
  }
}

std::uint16_t Address::port() const {
  return ntohs(family() == AF_INET6 ? storage_.v6.sin6_port : storage_.v4.sin_port);
}

std::string Address::path() const { return storage_.unix_path.sun_path; }

bool Address::is_local() const { return is_unix() || ip_address_of(data())->is_loopback(); }

std::string Address::to_string() const {
  if (is_unix()) return std::string(kUnixScheme) + path();
  const auto ip = *ip_address_of(data());
  const auto host = ip.is_v4() ? ip.to_string() : "[" + ip.to_string() + "]";
  return host + ":" + std::to_string(port());
}

}  // namespace weir
