#include "rules/time/calendar.h"

#include <algorithm>
#include <cstdint>

#include "base/duration_text.h"
#include "rules/time/time_zone.h"

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::seconds;

seconds offset_of(const TimeZone* zone, seconds utc) {
  return zone == nullptr ? seconds(0) : offset_at(*zone, utc);
}

// When the clocks show this time. No zone changes its clocks twice within two days.
seconds first_instant_of(const TimeZone* zone, seconds local) {
  const seconds before = offset_of(zone, local - days(1));
  const seconds after = offset_of(zone, local + days(1));
  if (offset_of(zone, local - before) == before) return local - before;
  if (offset_of(zone, local - after) == after) return local - after;
  // The clocks skip it: they change between these two instants.
  seconds early = local - after;
  seconds late = local - before;
  while (late - early > seconds(1)) {
    const seconds middle = early + (late - early) / 2;
    (offset_of(zone, middle) == before ? early : late) = middle;
  }
  return late;
}

// The windows of a quota, by numbers.
class Windows {
 public:
  Windows(const CalendarClock& clock, const Quota& quota)
      : clock_(clock), unit_(quota.calendar_unit()), first_day_(quota.first_day()) {}

  seconds begin(std::int64_t number) const {
    return first_instant_of(clock_.zone, first_date(number).time_since_epoch() + clock_.resets_at);
  }

  // The last window that has begun.
  std::int64_t at(seconds now) const {
    const seconds local = now + offset_of(clock_.zone, now) - clock_.resets_at;
    std::int64_t number = number_near(std::chrono::sys_days(std::chrono::floor<days>(local)));
    while (begin(number) > now) --number;
    while (begin(number + 1) <= now) ++number;
    return number;
  }

 private:
  static constexpr std::int64_t kMonths = 12;
  static constexpr days kMonday{4};  // in 1970

  std::chrono::sys_days first_date(std::int64_t number) const {
    using std::chrono::day, std::chrono::last, std::chrono::month, std::chrono::year;
    switch (unit_) {
      case CalendarUnit::kDay: return std::chrono::sys_days(days(number));
      case CalendarUnit::kWeek:
        return std::chrono::sys_days(kMonday + days(first_day_ + 7 * number));
      case CalendarUnit::kYear:
        return year(static_cast<int>(number)) / std::chrono::January / day(1);
      case CalendarUnit::kMonth: break;
    }
    const auto of_year = static_cast<unsigned>((number % kMonths + kMonths) % kMonths);
    const auto year_of = year(static_cast<int>((number - of_year) / kMonths));
    const auto this_month = year_of / month(of_year + 1);
    const auto last_day = std::chrono::year_month_day(this_month / last).day();
    return this_month / std::min(day(static_cast<unsigned>(std::max(1, first_day_))), last_day);
  }

  // The number of the day's window, or of a window next to it.
  std::int64_t number_near(std::chrono::sys_days date) const {
    const std::chrono::year_month_day parts(date);
    const std::int64_t year = int{parts.year()};
    switch (unit_) {
      case CalendarUnit::kDay: return date.time_since_epoch().count();
      case CalendarUnit::kWeek: return (date.time_since_epoch() - kMonday).count() / 7;
      case CalendarUnit::kYear: return year;
      case CalendarUnit::kMonth: break;
    }
    return kMonths * year + unsigned{parts.month()} - 1;
  }

  const CalendarClock& clock_;
  const CalendarUnit unit_;
  const int first_day_;
};

}  // namespace

WindowEnds window_ends(const CalendarClock& clock, const Quota& quota, Instant now) {
  const Windows windows(clock, quota);
  const auto utc = std::chrono::floor<seconds>(now.time_since_epoch());
  std::int64_t number = windows.at(utc);
  const seconds previous = windows.begin(number);
  const seconds current = windows.begin(++number);
  seconds next = windows.begin(++number);
  while (next == current) next = windows.begin(++number);
  return {Instant(previous), Instant(current), Instant(next)};
}

std::string window_text(const Quota& quota) {
  if (!quota.is_by_calendar()) return format_duration(quota.window());
  return std::string(kCalendarUnitNames[static_cast<std::size_t>(quota.calendar_unit())]);
}

const WindowEnds& CalendarCache::window_ends(const CalendarClock& clock, const Quota& quota,
                                             Instant now) {
  const auto place = static_cast<std::size_t>(clock.resets_at.count() + 7 * quota.first_day() +
                                              static_cast<int>(quota.window().count() >> 30)) ^
                     reinterpret_cast<std::uintptr_t>(clock.zone) / sizeof(void*);
  Entry& entry = entries_[place % entries_.size()];
  const bool is_same = entry.window == quota.window() && entry.clock == clock &&
                       entry.first_day == quota.first_day();
  if (!is_same || now < entry.ends.previous || now >= entry.ends.current) {
    entry = {clock, quota.window(), quota.first_day(), weir::window_ends(clock, quota, now)};
  }
  return entry.ends;
}

}  // namespace weir
