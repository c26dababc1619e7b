// What one of several nodes may admit of a quota, as long as it decides alone.
//
// A bucket that is shared out fills more slowly: a unit is worth `nodes` times the time. So
// what is spent of it is entered by share, too, or it would look nearly full.
//
// Thread rule: pure. Tested by quota_test.cc.

#pragma once

#include <cstdint>

#include "weir/quota.h"

namespace weir {

// At least one unit, unless the quota admits none.
Quota share_of(const Quota& quota, std::int64_t nodes) noexcept;

}  // namespace weir
