// Admitted: what a key was admitted, and when. Checks whether that is too much for its algorithm
// (docs/internals/algorithms.md).
//
// Thread rule: pure functions. Tested by ../properties_test.cc and
// tests/redis/lease_effects_test.cc, which use it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::algo::testing {

struct Admitted {
  std::int64_t at_us;
  std::int64_t units;
};

inline Int128 units_between(const std::vector<Admitted>& all, std::int64_t after_us,
                            std::int64_t to_us) {
  Int128 units = 0;
  for (const Admitted& one : all) {
    if (one.at_us > after_us && one.at_us <= to_us) units += one.units;
  }
  return units;
}

// The units in the window of `us`; windows are counted from the epoch.
inline Int128 units_in_window_of(const std::vector<Admitted>& all, const Quota& quota,
                                 std::int64_t us) {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t start_us = us / window_us * window_us;
  return units_between(all, start_us - 1, start_us + window_us - 1);
}

// The published formula: previous * (W - e) + current * W <= limit * W.
inline bool is_within_formula(const Quota& quota, const std::vector<Admitted>& all,
                              std::int64_t now_us) {
  const std::int64_t window_us = quota.window().count();
  const Int128 previous = units_in_window_of(all, quota, now_us - window_us);
  const Int128 current = units_in_window_of(all, quota, now_us);
  const Int128 overlap_us = window_us - now_us % window_us;
  return previous * overlap_us + current * window_us <= Int128{quota.limit()} * window_us;
}

// The bound up to the last of `all`. An adaptive key, whatever it has switched to, has a bucket's
// bound, and a unit for rounding.
inline bool is_within_bound(const Quota& quota, const std::vector<Admitted>& all) {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t now_us = all.back().at_us;
  switch (quota.algorithm()) {
    case Algorithm::kSlidingLog:
    case Algorithm::kStrictWindow:
      return units_between(all, now_us - window_us, now_us) <= quota.limit();
    case Algorithm::kSlidingWindow: return is_within_formula(quota, all, now_us);
    case Algorithm::kFixedWindow:
    case Algorithm::kExponentialBackoff:
      return units_in_window_of(all, quota, now_us) <= quota.limit();
    case Algorithm::kCalendarWindow:  // its windows are not known here
    case Algorithm::kTokenBucket:
    case Algorithm::kAdaptive: break;
  }
  const std::int64_t rounded = quota.algorithm() == Algorithm::kAdaptive ? 1 : 0;
  return std::ranges::all_of(all, [&](const Admitted& first) {
    // units <= capacity + length * limit / window, without dividing.
    const Int128 units = units_between(all, first.at_us - 1, now_us);
    return (units - quota.capacity() - rounded) * window_us <=
           Int128{now_us - first.at_us} * quota.limit();
  });
}

}  // namespace weir::algo::testing
