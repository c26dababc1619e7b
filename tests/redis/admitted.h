// Admitted: what was let pass and when, and whether that was too much in its algorithm's
// own sense (docs/internals/algorithms.md).
//
// Thread rule: pure functions. Tested by charge_effects_test.cc, which uses it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::testing {

struct Spent {
  std::int64_t at_us;
  std::int64_t units;
};

inline algo::Int128 units_between(const std::vector<Spent>& all, std::int64_t after_us,
                                  std::int64_t to_us) {
  algo::Int128 units = 0;
  for (const Spent& one : all) {
    if (one.at_us > after_us && one.at_us <= to_us) units += one.units;
  }
  return units;
}

inline algo::Int128 units_in_window_of(const std::vector<Spent>& all, const Quota& quota,
                                       std::int64_t us) {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t start_us = us / window_us * window_us;
  return units_between(all, start_us - 1, start_us + window_us - 1);
}

// What no key may have been admitted, in its algorithm's own sense, up to the last of `all`.
inline bool is_within_bound(const Quota& quota, const std::vector<Spent>& all) {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t now_us = all.back().at_us;
  switch (quota.algorithm()) {
    case Algorithm::kSlidingLog:
      return units_between(all, now_us - window_us, now_us) <= quota.limit();
    case Algorithm::kFixedWindow: return units_in_window_of(all, quota, now_us) <= quota.limit();
    case Algorithm::kSlidingWindow: {
      const algo::Int128 previous = units_in_window_of(all, quota, now_us - window_us);
      const algo::Int128 current = units_in_window_of(all, quota, now_us);
      const algo::Int128 overlap_us = window_us - now_us % window_us;
      return previous * overlap_us + current * window_us <= algo::Int128{quota.limit()} * window_us;
    }
    default: break;
  }
  return std::ranges::all_of(all, [&](const Spent& first) {
    const algo::Int128 units = units_between(all, first.at_us - 1, now_us);
    return (units - quota.capacity()) * window_us <=
           algo::Int128{now_us - first.at_us} * quota.limit();
  });
}

// The same for an adaptive key, whatever it has switched to: a bucket's, and what rounding to units
// makes of it.
inline bool is_within_adaptive_bound(const Quota& quota, const std::vector<Spent>& all) {
  constexpr std::int64_t kRounded = 1;
  const std::int64_t now_us = all.back().at_us;
  return std::ranges::all_of(all, [&](const Spent& first) {
    const algo::Int128 units = units_between(all, first.at_us - 1, now_us);
    return (units - quota.limit() - kRounded) * quota.window().count() <=
           algo::Int128{now_us - first.at_us} * quota.limit();
  });
}

}  // namespace weir::testing
