// Calendar window: a fixed window whose windows are days, weeks, months or years of a calendar.
//
// The quota says when the previous window, the current one and the next end (rules/time/calendar.h
// computes it). `now` chooses one, as it may be another machine's. The state has the end of its
// window, so a window that is over can be told from one of another calendar:
//
//   the window's end is   the units count
//   the current one's     in it
//   the next one's        in that: a clock that lags, which is believed (step.h)
//   past                  no more
//   another               in the current window: the zone, the hour or the anchor was changed, or
//                         a mistaken clock wrote it. Nobody gets a fresh quota for that
//
// Admits, leaves and gives back as fixed_window.h does.
//
// Thread rule: pure. Tested by calendar_window_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/step.h"
#include "weir/quota.h"

namespace weir::algo {

struct CalendarWindowState {
  std::int64_t end_us = 0;  // of the window that `count` belongs to
  std::int64_t count = 0;   // units spent in it; >= 0

  friend bool operator==(const CalendarWindowState&, const CalendarWindowState&) = default;
};

// When the window of `now` ends, and when the next one ends; 0: not known.
struct EndsNow {
  std::int64_t current_us;
  std::int64_t next_us;
};
// After the last end that the quota knows, windows are as long as their kind lasts at most.
inline EndsNow ends_at(const Quota& quota, Instant now) noexcept {
  const WindowEnds ends = quota.window_ends();
  if (now < ends.previous) return {epoch_us(ends.previous), epoch_us(ends.current)};
  if (now < ends.current) return {epoch_us(ends.current), epoch_us(ends.next)};
  if (now < ends.next) return {epoch_us(ends.next), 0};
  const Duration into = (now - ends.next) % quota.window();
  const Instant end = now - into + quota.window();
  return {epoch_us(end), epoch_us(end + quota.window())};
}

// The time from which the key is as if never seen. Instant{} if it holds nothing.
inline Instant expiry(const Quota&, const CalendarWindowState& state) noexcept {
  return state.count == 0 ? Instant{} : instant_from_epoch_us(state.end_us);
}

// The state as of `now`: the same units, in the window where they count now.
inline CalendarWindowState roll(const Quota& quota, const CalendarWindowState& state,
                                Instant now) noexcept {
  const EndsNow ends = ends_at(quota, now);
  const bool is_ahead = state.end_us == ends.next_us && state.count > 0;
  if (state.end_us == ends.current_us || is_ahead) return state;
  return {ends.current_us, state.end_us > epoch_us(now) ? state.count : 0};
}

// The decision of a request after which the key has `state`.
// REQUIRES: state is rolled to `now`
inline Decision describe(const Quota& quota, const CalendarWindowState& state, Verdict verdict,
                         Instant now) noexcept {
  const Duration left = instant_from_epoch_us(state.end_us) - now;
  Decision decision;
  decision.verdict = verdict;
  decision.limit = quota.limit();
  decision.remaining = std::max<std::int64_t>(0, quota.limit() - state.count);
  if (verdict == Verdict::kDenied) decision.retry_after = left;
  if (state.count > 0) decision.reset_after = left;
  if (quota.limit() > 0) decision.more_after = decision.reset_after;
  return decision;
}

// Decides one request; step.h has the rules that all algorithms share.
inline Step<CalendarWindowState> decide(const Quota& quota, const CalendarWindowState& state,
                                        std::int64_t cost, Instant now) noexcept {
  CalendarWindowState rolled = roll(quota, state, now);
  if (cost < 0) {
    const bool is_of_now = state.end_us == ends_at(quota, now).current_us;
    const std::int64_t returned = is_of_now ? std::min(-cost, rolled.count) : 0;
    rolled.count -= returned;
    const bool changed = returned > 0;
    return {changed ? rolled : state, describe(quota, rolled, Verdict::kAllowed, now), changed};
  }
  if (cost > quota.limit()) return {state, describe(quota, rolled, Verdict::kNever, now), false};
  if (rolled.count + cost > quota.limit()) {
    const bool moved = !(rolled == state) && rolled.count > 0 && cost > 0;
    return {moved ? rolled : state, describe(quota, rolled, Verdict::kDenied, now), moved};
  }
  if (cost == 0) return {state, describe(quota, rolled, Verdict::kAllowed, now), false};
  rolled.count += cost;
  return {rolled, describe(quota, rolled, Verdict::kAllowed, now), true};
}

// Charges though it may not fit: step.h.
inline Step<CalendarWindowState> charge(const Quota& quota, const CalendarWindowState& state,
                                        std::int64_t cost, Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  CalendarWindowState charged = roll(quota, state, now);
  const std::int64_t units = units_to_charge(quota, cost, charged.count);
  if (units == 0) return charge_nothing(quota, state, now);
  charged.count += units;
  return after_charge(quota, state, charged, now);
}

}  // namespace weir::algo
