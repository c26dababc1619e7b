// HOST:PORT, the text of an address to listen on.
//
//   127.0.0.1:8080    [::1]:8080    localhost:8080    0.0.0.0:0 (any free port)
//
// Only the form is checked here; whether a name resolves, the listener finds out.
//
// Thread rule: pure functions. Tested by host_port_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  std::uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Nothing if `text` is not an IPv4 address, a bracketed IPv6 address or a host name,
// a colon, and a port of 0 to 65535 without leading zeros.
std::optional<HostPort> parse_host_port(std::string_view text);

}  // namespace weir
