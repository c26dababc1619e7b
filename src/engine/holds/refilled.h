// When units of a key have come back, whatever its counter knows: for waits next to holds.
//
// Thread rule: pure. Tested by holding_store_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/epoch_window.h"
#include "algo/wide_math.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// When a key that has used so much at `at` has surely got back so much of it. As holds.lua says it.
inline Instant refilled(const Quota& quota, std::int64_t units, std::int64_t used, Instant at) {
  const Duration window = quota.window();
  if (quota.is_by_calendar()) {
    const WindowEnds ends = quota.window_ends();
    return at < ends.current ? ends.current : at < ends.next ? ends.next : at + window;
  }
  if (quota.algorithm() == Algorithm::kSlidingLog) return at + window;
  if (quota.algorithm() == Algorithm::kTokenBucket) {
    const std::int64_t ticks = quota.ticks_per_unit();
    return at + Duration(algo::mul_div_ceil(units, ticks, quota.ticks_per_us()));
  }
  const std::int64_t start_us = algo::window_start(window.count(), epoch_us(at));
  const Instant end = instant_from_epoch_us(start_us) + window;
  if (quota.is_fixed()) return end;
  return end + Duration(algo::mul_div_ceil(units, window.count(), used));
}

}  // namespace weir
