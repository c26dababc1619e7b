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

  std::int64_t& newest() { return count; }
  friend bool operator==(const FixedWindowState&, const FixedWindowState&) = default;
};

inline Instant end_of(const Quota& quota, const FixedWindowState& state) noexcept {
  return instant_from_epoch_us(state.start_us) + quota.window();
}

inline bool is_of(const Quota& quota, const FixedWindowState& state, Instant now) noexcept {
  return window_age(state.start_us, quota.window().count(), epoch_us(now)) == WindowAge::kCurrent;
}

// The state as of `now`: the same units, in the window where they count now.
inline FixedWindowState roll(const Quota& quota, const FixedWindowState& state,
                             Instant now) noexcept {
  const std::int64_t start_us = rolled_start(state.start_us, quota.window().count(), epoch_us(now),
                                             [&] { return state.count > 0; });
  return {start_us, start_us > state.start_us ? 0 : state.count};
}

// One count that starts over: that of a fixed window, and of a calendar window. end_of() is when it
// does, and is_of() whether its window is the one that `now` is in.
template <typename State>
concept OneCount = Counters<State> && requires(State state) { state.count; };

// The time from which the key is as if never seen. Instant{} if it holds nothing.
template <OneCount State>
Instant expiry(const Quota& quota, const State& state) noexcept {
  return state.count == 0 ? Instant{} : end_of(quota, state);
}

template <OneCount State>
std::int64_t held(const Quota&, const State& state, Instant) noexcept {
  return state.count;
}

// The decision of a request after which the key has `state`.
// REQUIRES: state is rolled to `now`
template <OneCount State>
Decision describe(const Quota& quota, const State& state, Verdict verdict, Instant now) noexcept {
  const Duration left = end_of(quota, state) - now;
  Decision decision;
  decision.verdict = verdict;
  decision.limit = quota.limit();
  decision.remaining = std::max<std::int64_t>(0, quota.limit() - state.count);
  if (verdict == Verdict::kDenied) decision.retry_after = left;
  if (state.count > 0) decision.reset_after = left;
  if (quota.limit() > 0) decision.more_after = decision.reset_after;
  return decision;
}

// Gives back `units` that were spent as of `now`.
template <OneCount State>
Step<State> give_back(const Quota& quota, const State& state, std::int64_t units,
                      Instant now) noexcept {
  State rolled = roll(quota, state, now);
  const std::int64_t returned = is_of(quota, state, now) ? std::min(units, rolled.count) : 0;
  rolled.count -= returned;
  const bool changed = returned > 0;
  return {changed ? rolled : state, describe(quota, rolled, Verdict::kAllowed, now), changed};
}

// Decides one request; step.h has the rules that all algorithms share.
template <OneCount State>
Step<State> decide(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  if (cost < 0) return give_back(quota, state, -cost, now);

  State rolled = roll(quota, state, now);
  if (cost > quota.limit()) return {state, describe(quota, rolled, Verdict::kNever, now), false};
  if (rolled.count + cost > quota.limit()) {
    const bool moved = !(rolled == state) && cost > 0;  // with its units, or the cost would fit
    return {moved ? rolled : state, describe(quota, rolled, Verdict::kDenied, now), moved};
  }
  if (cost == 0) return {state, describe(quota, rolled, Verdict::kAllowed, now), false};
  rolled.count += cost;
  return {rolled, describe(quota, rolled, Verdict::kAllowed, now), true};
}

}  // namespace weir::algo
