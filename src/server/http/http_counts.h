// HttpCounts: how many HTTP requests were answered, by route and class of status, and how many
// connections there were.
//
// Thread rule: as CoreCounters. Tested by admin/http_pages_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "observe/core_counters.h"

namespace weir {

// The place of a route among those of the door (routes.h).
using RouteId = std::uint8_t;
inline constexpr std::size_t kRoutesMax = 32;
inline constexpr RouteId kNoRoute = kRoutesMax;  // no such path, or no request at all

inline constexpr std::array<std::string_view, 4> kStatusClassNames = {"2xx", "3xx", "4xx", "5xx"};

// Their places in the row of counters.
inline constexpr std::size_t kHttpOpened = 0;  // connections, ever
inline constexpr std::size_t kHttpClosed = 1;
inline constexpr std::size_t kHttpRequests = 2;
// REQUIRES: 200 <= status < 600
constexpr std::size_t http_requests(std::size_t route, int status) {
  return kHttpRequests + route * kStatusClassNames.size() +
         static_cast<std::size_t>(status / 100 - 2);
}

using HttpCounts = CoreCounters<http_requests(kNoRoute + 1, 200)>;

}  // namespace weir
