// A part of a quota: what one of several nodes may admit while it decides alone, or what a rule
// admits while its traffic is unusual.
//
// A share of a bucket fills more slowly: a unit takes `nodes` times as long. So spent units, too,
// are entered as a share, or the bucket would look nearly full.
//
// Thread rule: pure. Tested by quota_test.cc.

#pragma once

#include <cstdint>

#include "weir/quota.h"

namespace weir {

// At least one unit, unless the quota admits none.
Quota share_of(const Quota& quota, std::int64_t nodes) noexcept;

// As share_of(), for a percentage. REQUIRES: 1 <= percent <= 100
Quota percent_of(const Quota& quota, std::int64_t percent) noexcept;

}  // namespace weir
