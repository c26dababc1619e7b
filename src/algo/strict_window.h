// Strict window: a sliding window that never admits more than its limit in any span of a window's
// length (`bound: never_over`).
//
// It counts in sub-windows of a quarter of the window, rounded up. Five count in full: the newest
// and the four before it. They cover a whole window wherever `now` is in the newest one.
//
//      oldest                                  newest
//   ├────────┼────────┼────────┼────────┼────────┤
//                |<────────── W ──────────>| now         allowed: all five + cost <= limit
//
//   remaining  limit - the five counts
//   retry      when enough of the oldest sub-windows have left
//   more       when the oldest that has units has
//   reset      when all have
//
// The price: a unit counts for up to a quarter of a window too long. How much less is admitted for
// that depends on how evenly a key spends (docs/reference/promises.md).
//
// Clocks that step back, giving back, and charges that always count are as in sliding_window.h,
// with sub-windows in place of windows. A state up to four sub-windows ahead of `now` is believed.
//
// Thread rule: pure. Tested by small_worlds_test.cc, properties_test.cc and
// src/rules/promise_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "algo/epoch_window.h"
#include "algo/step.h"
#include "weir/quota.h"

namespace weir::algo {

struct StrictWindowState {
  static constexpr std::int64_t kCounts = 5;

  std::int64_t start_us = 0;  // of the newest sub-window; a multiple of sub_window_us()
  std::array<std::int64_t, kCounts> counts{};  // the oldest first; >= 0

  std::int64_t& newest() { return counts.back(); }
  friend bool operator==(const StrictWindowState&, const StrictWindowState&) = default;
};

inline std::int64_t held(const Quota&, const StrictWindowState& state, Instant) noexcept {
  return std::accumulate(state.counts.begin(), state.counts.end(), std::int64_t{0});
}

inline std::int64_t sub_window_us(const Quota& quota) noexcept {
  constexpr std::int64_t kParts = StrictWindowState::kCounts - 1;
  return (quota.window().count() + kParts - 1) / kParts;
}

// When the sub-window of this count stops counting.
inline Instant leaves_at(const Quota& quota, const StrictWindowState& state,
                         std::size_t at) noexcept {
  const auto later = static_cast<std::int64_t>(at) + 1;
  return instant_from_epoch_us(state.start_us + later * sub_window_us(quota));
}

// The time from which the key is as if never seen. Instant{} if it holds nothing.
inline Instant expiry(const Quota& quota, const StrictWindowState& state) noexcept {
  for (std::size_t at = state.counts.size(); at > 0; --at) {
    if (state.counts[at - 1] > 0) return leaves_at(quota, state, at - 1);
  }
  return Instant{};
}

// The state as of `now`.
inline StrictWindowState roll(const Quota& quota, const StrictWindowState& state,
                              Instant now) noexcept {
  const std::int64_t width_us = sub_window_us(quota);
  const std::int64_t start_us = window_start(width_us, epoch_us(now));
  const std::int64_t steps = (start_us - state.start_us) / width_us;
  StrictWindowState rolled{start_us, {}};
  if (steps < 0) {  // written ahead of `now`
    const bool is_believed = -steps < StrictWindowState::kCounts && held(quota, state, now) > 0;
    if (is_believed) return state;
    rolled.counts = state.counts;
  } else if (steps < StrictWindowState::kCounts) {
    std::copy(state.counts.begin() + steps, state.counts.end(), rolled.counts.begin());
  }
  return rolled;
}

// The time until `cost` fits.
// REQUIRES: state is rolled to `now`, `cost` does not fit at `now`, 0 <= cost <= limit
inline Duration retry_after(const Quota& quota, const StrictWindowState& state, std::int64_t cost,
                            Instant now) noexcept {
  std::int64_t excess = held(quota, state, now) + cost - quota.limit();
  std::size_t at = 0;
  while ((excess -= state.counts[at]) > 0) ++at;
  return leaves_at(quota, state, at) - now;
}

// The decision, but for retry_after, of a request after which the key has `state`.
// REQUIRES: state is rolled to `now`
inline Decision describe(const Quota& quota, const StrictWindowState& state, Verdict verdict,
                         Instant now) noexcept {
  Decision decision;
  decision.verdict = verdict;
  decision.limit = quota.limit();
  decision.remaining = std::max<std::int64_t>(0, quota.limit() - held(quota, state, now));
  decision.reset_after = std::max(Duration{0}, expiry(quota, state) - now);
  if (decision.remaining < quota.limit()) {
    decision.more_after = retry_after(quota, state, decision.remaining + 1, now);
  }
  return decision;
}

// Gives back `units` that were spent as of `now`, from the sub-window of `now`.
inline Step<StrictWindowState> give_back(const Quota& quota, const StrictWindowState& state,
                                         std::int64_t units, Instant now) noexcept {
  StrictWindowState rolled = roll(quota, state, now);
  const std::int64_t start_us = window_start(sub_window_us(quota), epoch_us(now));
  const std::int64_t before = (rolled.start_us - start_us) / sub_window_us(quota);
  std::int64_t returned = 0;
  if (rolled.start_us >= state.start_us && before < StrictWindowState::kCounts) {
    std::int64_t& count = rolled.counts[static_cast<std::size_t>(rolled.kCounts - 1 - before)];
    returned = std::min(units, count);
    count -= returned;
  }
  const Decision decision = describe(quota, rolled, Verdict::kAllowed, now);
  return {returned > 0 ? rolled : state, decision, returned > 0};
}

// Decides one request; step.h has the rules that all algorithms share.
inline Step<StrictWindowState> decide(const Quota& quota, const StrictWindowState& state,
                                      std::int64_t cost, Instant now) noexcept {
  if (cost < 0) return give_back(quota, state, -cost, now);

  StrictWindowState rolled = roll(quota, state, now);
  if (cost > quota.limit()) return {state, describe(quota, rolled, Verdict::kNever, now), false};
  if (held(quota, rolled, now) + cost > quota.limit()) {
    const bool moved = rolled.start_us < state.start_us && cost > 0;
    Decision decision = describe(quota, rolled, Verdict::kDenied, now);
    decision.retry_after = retry_after(quota, rolled, cost, now);
    return {moved ? rolled : state, decision, moved};
  }
  rolled.newest() += cost;
  const bool changed = cost > 0;
  return {changed ? rolled : state, describe(quota, rolled, Verdict::kAllowed, now), changed};
}

}  // namespace weir::algo
