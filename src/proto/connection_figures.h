// ConnectionFigures: what became of the connections of all doors, for metrics.
//
// Thread rule: a value. Counted by net/connection_budget.h, tested by src/net/server_test.cc and
// src/server/http/admin/http_pages_test.cc.

#pragma once

#include <cstdint>

namespace weir {

struct ConnectionFigures {
  std::uint64_t open = 0;
  std::uint64_t max = 0;
  std::uint64_t accepted = 0;           // since the start
  std::uint64_t refused = 0;            // beyond max: reset at once
  std::uint64_t stalled = 0;            // dropped because the peer did not read its replies
  std::uint64_t failed_handshakes = 0;  // of TLS, those that took too long among them
  std::uint64_t refused_headers = 0;    // of the PROXY protocol, likewise
  std::uint64_t buffered = 0;           // bytes that they hold
  std::uint64_t buffered_max = 0;
  std::uint64_t shed = 0;     // reset because all held too much, and they most
  std::uint64_t flooded = 0;  // closed because the peer only made work
};

}  // namespace weir
