// IoResult: what came of reading from or writing to a connection.
//
// Thread rule: values. Tested by src/net/server_test.cc and src/net/tls_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>

namespace weir {

struct IoResult {
  enum class Status : std::uint8_t {
    kDone,         // `size` bytes were moved
    kWantsInput,   // try again when the socket is readable
    kWantsOutput,  // try again when it is writable
    kEnd,          // the peer has sent all it will
    kBroken,       // nothing will come of this connection any more
  };
  Status status;
  std::size_t size = 0;  // also if a write could not take everything
};

}  // namespace weir
