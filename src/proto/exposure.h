// Exposure: from where a listening socket can be reached. What a door may do for clients
// that have shown no credentials depends on it.
//
// Thread rule: a value. Tested by src/server/http/http_access_test.cc.

#pragma once

#include <cstdint>

namespace weir {

enum class Exposure : std::uint8_t { kLoopback, kNetwork };

}  // namespace weir
