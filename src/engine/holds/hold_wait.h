// When a charge fits next to holds, if all of them lapse. A commit may make room sooner. The time
// is never too early: units used by now count as if a lapse charged them, too. holds.lua computes
// the same.
//
// Thread rule: pure. Tested by holding_store_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "algo/epoch_window.h"
#include "algo/wide_math.h"
#include "weir/quota.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// When a key that has used `used` units at `at` has surely got `units` of them back.
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
  if (quota.is_fixed() || used == 0) return end;
  return end + Duration(algo::mul_div_ceil(units, window.count(), used));
}

// When the key is as if new, if the last hold ends at `last` and charges all units.
inline Instant as_new_at(const Quota& quota, Instant last) {
  return refilled(quota, quota.capacity(), quota.capacity(), last);
}

// Lets the key's reset wait for its last hold.
inline void outlast(Decision& decision, const Quota& quota, Instant last, Instant now) {
  decision.reset_after = std::max(decision.reset_after, as_new_at(quota, last) - now);
}

inline Decision denied_by_holds(Decision decision, std::int64_t left, Duration wait) {
  decision.verdict = Verdict::kDenied;
  decision.remaining = std::max<std::int64_t>(0, left);
  decision.retry_after = decision.more_after = std::max(wait, Duration(1));
  return decision;
}

struct Lapse {
  Instant at{};
  std::int64_t units = 0;  // held until then
  std::int64_t due = 0;    // charged then
};

// REQUIRES: the charge is not in the counter, which `look(cost)` asks. `next_lapse()` returns the
// hold that ends next, or nothing; the last one ends at `last`.
template <typename Look, typename NextLapse>
Duration wait_next_to_holds(const Quota& quota, std::int64_t cost, std::int64_t held, Instant last,
                            Instant now, Look look, NextLapse next_lapse) {
  constexpr int kLapsesMax = 8;  // then all others at once, when the last has lapsed
  const std::int64_t most = quota.capacity();
  const auto fits_at = [&](std::int64_t wanted, std::int64_t due, Instant from) {
    if (wanted + due <= most) return std::max(from, now + look(wanted + due).retry_after);
    const Decision at_hand = look(0);
    const std::int64_t used = at_hand.allowed() ? most - at_hand.remaining : quota.debt_max();
    const std::int64_t then = std::min(quota.debt_max(), used + due);
    return refilled(quota, then + wanted - most, then, from);
  };
  std::int64_t due = 0;  // of the holds that lapsed by `from`
  Instant from = now;
  Instant best = Instant::max();
  for (int lapses = 0;; ++lapses) {
    const std::int64_t wanted = cost + held;
    if (wanted <= most) best = std::min(best, fits_at(wanted, due, from));
    const std::optional<Lapse> next = next_lapse();
    if (!next || best <= next->at) break;
    if (lapses == kLapsesMax) return std::min(best, fits_at(cost, quota.debt_max(), last)) - now;
    held -= next->units;
    due += next->due;
    from = next->at;
  }
  return best - now;
}

}  // namespace weir
