// The header of the PROXY protocol, versions 1 and 2: what a load balancer that passes on
// bytes says about the client, once, before everything else on the connection.
//
//   PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n
//   or a signature of 12 bytes, then version, family, length, addresses and extensions
//
// Extensions are skipped, their checksum among them.
//
// Thread rule: pure. Tested by proxy_header_test.cc and fuzz/proxy_header_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace weir {

// Both versions may grow to this: version 1 is shorter by itself, and extensions of 4 KiB
// are a client's whole certificate.
inline constexpr std::size_t kProxyHeaderMax = 4 << 10;

struct ProxyHeader {
  enum class Status : std::uint8_t {
    kIncomplete,  // so far it is one; every byte belongs to it
    kMalformed,   // it is none, or a longer one than is allowed
    kComplete,
  };
  Status status = Status::kIncomplete;
  // If kComplete:
  std::size_t size = 0;  // bytes that belong to it
  // The client. None: the balancer speaks for itself, or does not know; then the one
  // that has connected counts.
  std::optional<IpAddress> source;
};

// Looks at the beginning of a connection, all of it that has arrived.
ProxyHeader parse_proxy_header(std::string_view input);

}  // namespace weir
