// The header of the PROXY protocol, versions 1 and 2. A load balancer that passes on bytes says in
// it who the client is, once, before all other bytes of the connection.
//
//   PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n
//   or a signature of 12 bytes, then version, family, length, addresses and extensions
//
// Extensions are skipped, including their checksum.
//
// Thread rule: pure. Tested by proxy_header_test.cc and fuzz/proxy_header_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace weir {

// The most bytes in both versions. Version 1 is shorter by itself, and extensions of 4 KiB can hold
// a client's whole certificate.
inline constexpr std::size_t kProxyHeaderMax = 4 << 10;

struct ProxyHeader {
  enum class Status : std::uint8_t {
    kIncomplete,  // may become a header; all bytes belong to it
    kMalformed,   // no header, or longer than is allowed
    kComplete,
  };
  Status status = Status::kIncomplete;
  // If kComplete:
  std::size_t size = 0;  // bytes of the header
  // The client. Nothing: the balancer speaks for itself, or does not know; then the peer that
  // connected counts.
  std::optional<IpAddress> source;
};

// Looks at all bytes that have arrived since the beginning of a connection.
ProxyHeader parse_proxy_header(std::string_view input);

}  // namespace weir
