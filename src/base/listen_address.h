// The text of an address to listen on: HOST:PORT, or the path of a Unix socket.
//
//   127.0.0.1:8080    [::1]:8080    localhost:8080    0.0.0.0:0 (any free port)
//   unix:/run/weir/http.sock
//
// Names other than localhost are refused: which of a name's addresses would be listened on is the
// resolver's choice.
//
// Thread rule: pure. Tested by listen_address_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace weir {

// What the kernel has room for, less one for the end of the text.
inline constexpr std::size_t kUnixPathMax = 107;

struct ListenAddress {
  IpAddress host{};
  bool is_v6 = false;  // in brackets, even if an IPv4 address is in them
  std::uint16_t port = 0;
  std::string_view path{};  // of a Unix socket, of any length; empty: it is none

  // Nothing unless the text is an IPv4 address, an IPv6 address in brackets or "localhost"; a
  // colon; and a port of 0 to 65535 without leading zeros. Or "unix:" and an absolute path.
  static std::optional<ListenAddress> parse(std::string_view text);
};

}  // namespace weir
