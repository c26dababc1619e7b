// The Date field of HTTP: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7).
//
// Thread rule: pure. Tested by http_date_test.cc.

#pragma once

#include <array>
#include <cstddef>

#include "weir/time.h"

namespace weir {

inline constexpr std::size_t kHttpDateSize = 29;
using HttpDate = std::array<char, kHttpDateSize>;

// REQUIRES: the year has four digits.
HttpDate http_date(Instant instant);

}  // namespace weir
