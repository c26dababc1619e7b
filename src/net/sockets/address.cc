#include "net/sockets/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/listen_address.h"

namespace weir {
namespace {

constexpr std::string_view kUnixScheme = "unix:";

Fault bad_address(std::string_view text) {
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

Result<Address, Fault> Address::parse(std::string_view text) {
  const auto read = ListenAddress::parse(text);
  if (!read) return bad_address(text);
  auto address = Address();
  auto& to = address.storage_;
  const auto& bytes = read->host.bytes();
  if (read->path.size() > kUnixPathMax) {
    return Fault{"the path of a Unix socket is " + std::to_string(read->path.size()) +
                 " bytes long; the system takes at most " + std::to_string(kUnixPathMax)};
  }
  if (!read->path.empty()) {
    to.unix_path.sun_family = AF_UNIX;
    std::ranges::copy(read->path, to.unix_path.sun_path);  // its end is zero already
  } else if (read->is_v6) {
    to.v6.sin6_family = AF_INET6;
    to.v6.sin6_port = htons(read->port);
    std::ranges::copy(bytes, to.v6.sin6_addr.s6_addr);
  } else {
    to.v4.sin_family = AF_INET;
    to.v4.sin_port = htons(read->port);
    std::memcpy(&to.v4.sin_addr, bytes.data() + bytes.size() - sizeof(in_addr), sizeof(in_addr));
  }
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

bool Address::is_any() const {
  const auto ip = ip_address_of(data());
  return ip && ip->network(0) == *ip;
}

bool Address::is_local() const { return is_unix() || ip_address_of(data())->is_loopback(); }

std::string Address::to_string() const {
  if (is_unix()) return std::string(kUnixScheme) + path();
  const auto ip = *ip_address_of(data());
  const auto host = ip.is_v4() ? ip.to_string() : "[" + ip.to_string() + "]";
  return host + ":" + std::to_string(port());
}

}  // namespace weir
