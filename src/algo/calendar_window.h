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
// Admits, leaves and gives back as a fixed window does, by the same functions.
//
// Thread rule: pure. Tested by calendar_window_test.cc.

#pragma once

#include <cstdint>

#include "algo/fixed_window.h"
#include "weir/quota.h"

namespace weir::algo {

struct CalendarWindowState {
  std::int64_t end_us = 0;  // of the window that `count` belongs to
  std::int64_t count = 0;   // units spent in it; >= 0

  std::int64_t& newest() { return count; }
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

inline Instant end_of(const Quota&, const CalendarWindowState& state) noexcept {
  return instant_from_epoch_us(state.end_us);
}

inline bool is_of(const Quota& quota, const CalendarWindowState& state, Instant now) noexcept {
  return state.end_us == ends_at(quota, now).current_us;
}

// The state as of `now`: the same units, in the window where they count now.
inline CalendarWindowState roll(const Quota& quota, const CalendarWindowState& state,
                                Instant now) noexcept {
  const EndsNow ends = ends_at(quota, now);
  const bool is_ahead = state.end_us == ends.next_us && state.count > 0;
  if (state.end_us == ends.current_us || is_ahead) return state;
  return {ends.current_us, state.end_us > epoch_us(now) ? state.count : 0};
}

}  // namespace weir::algo
