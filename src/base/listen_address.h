// The text of an address to listen on: HOST:PORT, or the path of a Unix socket.
//
//   127.0.0.1:8080    [::1]:8080    localhost:8080    0.0.0.0:0 (any free port)
//   unix:/run/weir/http.sock
//
// Names other than localhost are refused: the resolver would choose which of a name's addresses the
// server listens on.
//
// Thread rule: pure. Tested by listen_address_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace weir {

// The longest path the kernel has room for, without the NUL at the end.
inline constexpr std::size_t kUnixPathMax = 107;

struct ListenAddress {
  IpAddress host{};
  bool is_v6 = false;  // the host is in brackets, even if it is IPv4
  std::uint16_t port = 0;
  std::string_view path{};  // of a Unix socket, of any length; else empty

  // Returns nothing unless the text is an IPv4 address, an IPv6 address in brackets or "localhost";
  // a colon; and a port of 0 to 65535 without leading zeros. Or "unix:" and an absolute path.
  static std::optional<ListenAddress> parse(std::string_view text);
};

}  // namespace weir
