// Fixed window: a count that starts over at every multiple of the window since 1970.
//
// Admits `limit` units in each window. Around a boundary, two limits can fall within one window's
// length; use sliding_window where that matters.
//
//   allowed     count + cost <= limit
//   remaining   limit - count
//   retry, more, reset   the end of the window, when all of it comes back at once
//
// Units can be given back only within their window. Units of a window that is over are free again
// anyway, and must not be taken from the next window's count. That also holds for a state one
// window ahead of `now`: a clock that lags behind cannot take back a charge there.
//
// Thread rule: pure. Tested by testdata/fixed_window.txt, small_worlds_test.cc, properties_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/epoch_window.h"
#include "algo/step.h"
#include "weir/quota.h"

namespace weir::algo {

struct FixedWindowState {
  std::int64_t start_us = 0;  // of the window that `count` belongs to; a multiple of the window
  std::int64_t count = 0;     // units spent in it; >= 0

  friend bool operator==(const FixedWindowState&, const FixedWindowState&) = default;
};

// The time from which the key is as if never seen. Instant{} if it holds nothing.
inline Instant expiry(const Quota& quota, const FixedWindowState& state) noexcept {
  if (state.count == 0) return Instant{};
  return instant_from_epoch_us(state.start_us) + quota.window();
}

// The state as of `now`: the same units, in the window where they count now.
inline FixedWindowState roll(const Quota& quota, const FixedWindowState& state,
                             Instant now) noexcept {
  const std::int64_t window_us = quota.window().count();
  switch (window_age(state.start_us, window_us, epoch_us(now))) {
    case WindowAge::kCurrent: return state;
    case WindowAge::kPrevious: return {state.start_us + window_us, 0};
    case WindowAge::kOld: return {window_start(window_us, epoch_us(now)), 0};
    case WindowAge::kAhead:
      if (state.count > 0) return state;
      [[fallthrough]];
    case WindowAge::kFuture: return {window_start(window_us, epoch_us(now)), state.count};
  }
  return state;
}

// The decision of a request after which the key has `state`.
// REQUIRES: state is rolled to `now`
inline Decision describe(const Quota& quota, const FixedWindowState& state, Verdict verdict,
                         Instant now) noexcept {
  const Instant end = instant_from_epoch_us(state.start_us) + quota.window();
  Decision decision;
  decision.verdict = verdict;
  decision.limit = quota.limit();
  decision.remaining = std::max<std::int64_t>(0, quota.limit() - state.count);
  if (verdict == Verdict::kDenied) decision.retry_after = end - now;
  if (state.count > 0) decision.reset_after = end - now;
  if (quota.limit() > 0) decision.more_after = decision.reset_after;
  return decision;
}

// Gives back `units` that were spent as of `now`.
inline Step<FixedWindowState> give_back(const Quota& quota, const FixedWindowState& state,
                                        std::int64_t units, Instant now) noexcept {
  FixedWindowState rolled = roll(quota, state, now);
  const bool in_its_window = rolled.start_us == state.start_us && epoch_us(now) >= state.start_us;
  const std::int64_t returned = in_its_window ? std::min(units, rolled.count) : 0;
  rolled.count -= returned;
  const bool changed = returned > 0;
  return {changed ? rolled : state, describe(quota, rolled, Verdict::kAllowed, now), changed};
}

// Decides one request; step.h has the rules that all algorithms share.
inline Step<FixedWindowState> decide(const Quota& quota, const FixedWindowState& state,
                                     std::int64_t cost, Instant now) noexcept {
  if (cost < 0) return give_back(quota, state, -cost, now);

  FixedWindowState rolled = roll(quota, state, now);
  if (cost > quota.limit()) return {state, describe(quota, rolled, Verdict::kNever, now), false};
  if (rolled.count + cost > quota.limit()) {
    const bool moved = rolled.start_us < state.start_us && cost > 0;
    return {moved ? rolled : state, describe(quota, rolled, Verdict::kDenied, now), moved};
  }
  if (cost == 0) return {state, describe(quota, rolled, Verdict::kAllowed, now), false};
  rolled.count += cost;
  return {rolled, describe(quota, rolled, Verdict::kAllowed, now), true};
}

// Charges though it may not fit: step.h.
inline Step<FixedWindowState> charge(const Quota& quota, const FixedWindowState& state,
                                     std::int64_t cost, Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  FixedWindowState charged = roll(quota, state, now);
  const std::int64_t units = units_to_charge(quota, cost, charged.count);
  if (units == 0) return charge_nothing(quota, state, now);
  charged.count += units;
  return after_charge(quota, state, charged, now);
}

}  // namespace weir::algo
