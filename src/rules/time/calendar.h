// Calendars: when windows of days, weeks, months and years begin and end.
//
// Windows go by the clocks of a time zone: a window begins when they show its hour on its first
// day. If the clocks skip that time, it begins at the next instant; if they show it twice, at the
// first. A window without any instant, like the day that Samoa left out, does not exist. A month
// that lacks its first day begins on its last day.
//
// Thread rule: pure; CalendarCache one core.
// Tested by calendar_test.cc, and calendar_reference_test.cc against Python's calendar.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

class TimeZone;

// When days begin, and in which zone.
struct CalendarClock {
  const TimeZone* zone = nullptr;  // null: UTC
  std::chrono::minutes resets_at{0};

  friend constexpr bool operator==(const CalendarClock&, const CalendarClock&) = default;
};

// Around `now`, by the wall clock, in whole seconds. REQUIRES: the quota is by a calendar
WindowEnds window_ends(const CalendarClock& clock, const Quota& quota, Instant now);

// "1h30m", or "month".
std::string window_text(const Quota& quota);

constexpr WindowEnds moved(const WindowEnds& ends, Duration by) {
  return {ends.previous + by, ends.current + by, ends.next + by};
}

// Remembers ends of windows, so that little work is done while they last.
class CalendarCache {
 public:
  const WindowEnds& window_ends(const CalendarClock& clock, const Quota& quota, Instant now);

 private:
  struct Entry {
    CalendarClock clock;
    Duration window{0};  // which windows, together with the first day
    int first_day = 0;
    WindowEnds ends{};
  };
  std::array<Entry, 64> entries_{};
};

}  // namespace weir
