// Sliding window: two counters, the previous one weighted by the part that still overlaps.
//
// The last `window` of time covers the current window, e of it so far. The rest of it, W - e, lies
// in the previous window, whose units are taken to be spread evenly:
//
//      previous window          current window
//   ├───────────────────────┼───────────────────────┤
//             |<── W - e ──>|<─ e ─>| now
//
//   rate       previous * (W - e) / W + current
//   allowed    rate + cost <= limit, in exact integers
//
// At 50 a minute, 42 in the previous minute, 17 so far, 15 s in: 42 * 45/60 + 17 = 48.5.
// One more makes 49.5 and is allowed; the next would make 50.5 and is denied.
//
//   remaining  limit - current - ceil(previous * (W - e) / W)
//   retry      when the previous window has faded enough; if the current one alone is
//              too full, when that one, by then the previous, has
//   more       when one unit more than remains would fit, likewise
//   reset      when neither overlaps any more: up to 2 * W - e
//
// Only allowed units are counted: hammering does not prolong a denial. It never admits over `limit`
// in a window since the epoch, nor over 2 * limit in any span of a window's length. How far above
// `limit` a span goes depends on how unevenly the previous window was used.
//
// Units can be given back only to the window of `now`, if that is one of the two.
//
// Thread rule: pure. Tested by testdata/sliding_window.txt, small_worlds_test.cc and
// properties_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/epoch_window.h"
#include "algo/step.h"
#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::algo {

struct SlidingWindowState {
  std::int64_t start_us = 0;  // of the current window; a multiple of the window
  std::int64_t previous = 0;  // units spent in the window before it; >= 0
  std::int64_t current = 0;   // units spent in it; >= 0

  std::int64_t& newest() { return current; }
  friend bool operator==(const SlidingWindowState&, const SlidingWindowState&) = default;
};

// The time from which the key is as if never seen. Instant{} if it holds nothing.
inline Instant expiry(const Quota& quota, const SlidingWindowState& state) noexcept {
  const Instant start = instant_from_epoch_us(state.start_us);
  if (state.current > 0) return start + 2 * quota.window();
  if (state.previous > 0) return start + quota.window();
  return Instant{};
}

// The state as of `now`: the same units, in the windows where they count now.
inline SlidingWindowState roll(const Quota& quota, const SlidingWindowState& state,
                               Instant now) noexcept {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t start_us = rolled_start(state.start_us, window_us, epoch_us(now), [&] {
    return state.previous > 0 || state.current > 0;
  });
  const std::int64_t later_us = start_us - state.start_us;
  if (later_us <= 0) return {start_us, state.previous, state.current};
  return {start_us, later_us == window_us ? state.current : 0, 0};
}

// e: how far `now` is in the current window. 0 if it lies before it.
// REQUIRES: state is rolled to `now`
inline std::int64_t elapsed_us(const SlidingWindowState& state, Instant now) noexcept {
  return std::max<std::int64_t>(0, epoch_us(now) - state.start_us);
}

// The weight of the previous window now, rounded up. It is only compared with whole numbers of
// units, so rounding up decides exactly as the fraction would.
// REQUIRES: state is rolled to `now`
inline std::int64_t previous_weight(const Quota& quota, const SlidingWindowState& state,
                                    Instant now) noexcept {
  if (state.previous == 0) return 0;
  const std::int64_t window_us = quota.window().count();
  return mul_div_ceil(state.previous, window_us - elapsed_us(state, now), window_us);
}

inline std::int64_t held(const Quota& quota, const SlidingWindowState& state,
                         Instant now) noexcept {
  return state.current + previous_weight(quota, state, now);
}

// How far the next window has gone when only `units` of `counter` units weigh: the smallest e with
// counter * (W - e) <= units * W. W if that never happens within the window.
// REQUIRES: units >= 0
inline std::int64_t faded_at_us(std::int64_t window_us, std::int64_t counter,
                                std::int64_t units) noexcept {
  if (units >= counter) return 0;
  return window_us - mul_div_floor(units, window_us, counter);
}

// Takes units as evenly spread in their windows, if only their counts are known. A place of
// store/memory/fine_counts.h knows more.
struct EvenPast {
  static std::int64_t weight(const Quota& quota, const SlidingWindowState& state,
                             Instant now) noexcept {
    return previous_weight(quota, state, now);
  }
  // The time until this weight is one unit less. At weight 0, until one unit less of the current
  // count's `held` units weighs. REQUIRES: the state's window is that of `now`
  static Duration more_after(const Quota& quota, const SlidingWindowState& state,
                             std::int64_t weight, std::int64_t held, Instant now) noexcept {
    const bool is_previous = weight > 0;
    const std::int64_t left = (is_previous ? weight : held) - 1;
    const std::int64_t window_us = quota.window().count();
    return Duration{(is_previous ? window_us : 2 * window_us) - elapsed_us(state, now) -
                    mul_div_floor(left, window_us, is_previous ? state.previous : held)};
  }
  // When at most `units` of a count weigh any more, in us since the state's start. The current
  // count fades in the window after its own.
  enum class Count : std::uint8_t { kPrevious, kCurrent };
  static std::int64_t faded_at_us(const Quota& quota, const SlidingWindowState& state, Count count,
                                  std::int64_t units) noexcept {
    const std::int64_t window_us = quota.window().count();
    const bool is_previous = count == Count::kPrevious;
    return (is_previous ? 0 : window_us) +
           algo::faded_at_us(window_us, is_previous ? state.previous : state.current, units);
  }
};

// The time until `cost` fits.
// REQUIRES: state is rolled to `now`, `cost` does not fit at `now`, 0 <= cost <= limit
template <typename Past>
inline Duration retry_after(const Quota& quota, const SlidingWindowState& state, std::int64_t cost,
                            Instant now, Past past) noexcept {
  using Count = EvenPast::Count;
  const std::int64_t room = quota.limit() - cost;  // for what is already counted
  const bool in_this_window = state.current <= room;
  const std::int64_t fits_us =
      past.faded_at_us(quota, state, in_this_window ? Count::kPrevious : Count::kCurrent,
                       in_this_window ? room - state.current : room);
  return Duration{state.start_us + fits_us - epoch_us(now)};
}

// The decision, but for retry_after, of a request after which the key has `state`. Out of line, so
// that its four callers share it: a kilobyte less of WebAssembly.
// REQUIRES: state is rolled to `now`, weight is its previous_weight
template <typename Past = EvenPast>
[[gnu::noinline]] inline Decision describe(const Quota& quota, const SlidingWindowState& state,
                                           std::int64_t weight, Verdict verdict, Instant now,
                                           Past past = {}) noexcept {
  Decision decision;
  decision.verdict = verdict;
  decision.limit = quota.limit();
  decision.remaining = std::max<std::int64_t>(0, quota.limit() - state.current - weight);
  decision.reset_after = std::max(Duration{0}, expiry(quota, state) - now);
  if (decision.remaining < quota.limit()) {
    decision.more_after = retry_after(quota, state, decision.remaining + 1, now, past);
  }
  return decision;
}

// Gives back `units` that were spent as of `now`.
inline Step<SlidingWindowState> give_back(const Quota& quota, const SlidingWindowState& state,
                                          std::int64_t units, Instant now) noexcept {
  SlidingWindowState rolled = roll(quota, state, now);
  std::int64_t returned = 0;
  if (rolled.start_us >= state.start_us) {  // else roll() moved it from the future
    const bool in_current = epoch_us(now) >= rolled.start_us;
    std::int64_t& counter = in_current ? rolled.current : rolled.previous;
    returned = std::min(units, counter);
    counter -= returned;
  }
  const Decision decision =
      describe(quota, rolled, previous_weight(quota, rolled, now), Verdict::kAllowed, now);
  return {returned > 0 ? rolled : state, decision, returned > 0};
}

// Decides one request; step.h has the rules that all algorithms share. `past` belongs to the state
// as rolled to `now`.
template <typename Past = EvenPast>
inline Step<SlidingWindowState> decide(const Quota& quota, const SlidingWindowState& state,
                                       std::int64_t cost, Instant now, Past past = {}) noexcept {
  if (cost < 0) return give_back(quota, state, -cost, now);

  SlidingWindowState rolled = roll(quota, state, now);
  const std::int64_t weight = past.weight(quota, rolled, now);
  if (cost > quota.limit()) {
    return {state, describe(quota, rolled, weight, Verdict::kNever, now, past), false};
  }
  if (rolled.current + weight + cost > quota.limit()) {
    const bool moved = rolled.start_us < state.start_us && cost > 0;
    Decision decision = describe(quota, rolled, weight, Verdict::kDenied, now, past);
    const bool lacks_one_unit = cost == decision.remaining + 1;  // as for most denials
    decision.retry_after =
        lacks_one_unit ? decision.more_after : retry_after(quota, rolled, cost, now, past);
    return {moved ? rolled : state, decision, moved};
  }
  if (cost == 0)
    return {state, describe(quota, rolled, weight, Verdict::kAllowed, now, past), false};
  rolled.current += cost;
  return {rolled, describe(quota, rolled, weight, Verdict::kAllowed, now, past), true};
}

}  // namespace weir::algo
