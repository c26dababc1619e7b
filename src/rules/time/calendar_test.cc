#include "rules/time/calendar.h"

#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "rules/time/time_zone.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// "2026-03-27 07:59:59", UTC.
Instant utc(const std::string& text) {
  std::tm tm{};
  EXPECT_NE(strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &tm), nullptr) << text;
  return instant_from_epoch_us(std::int64_t{timegm(&tm)} * 1'000'000);
}

std::string text_of(Instant instant) {
  const std::time_t seconds = epoch_us(instant) / 1'000'000;
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &tm)};
}

Quota quota_by(CalendarUnit unit, int first_day = 1) {
  auto quota = *Quota::make(
      {Algorithm::kCalendarWindow, 5, kCalendarUnitLengths[static_cast<std::size_t>(unit)]});
  quota.set_first_day(first_day);
  return quota;
}

CalendarClock clock_of(const std::string& zone, std::chrono::minutes resets_at = 0min) {
  return {find_zone(zone), resets_at};
}

// "the end of the previous window, of the current one, of the next one", in UTC.
std::string ends(const CalendarClock& clock, const Quota& quota, const std::string& now) {
  const WindowEnds found = window_ends(clock, quota, utc(now));
  return text_of(found.previous) + ", " + text_of(found.current) + ", " + text_of(found.next);
}

TEST(Calendar, HasDaysWeeksMonthsAndYears) {
  const CalendarClock clock;  // UTC
  const auto day = quota_by(CalendarUnit::kDay);
  EXPECT_EQ(ends(clock, day, "2026-11-29 00:00:00"),
            "2026-11-29 00:00, 2026-11-30 00:00, 2026-12-01 00:00");
  EXPECT_EQ(ends(clock, day, "2026-11-28 23:59:59"),
            "2026-11-28 00:00, 2026-11-29 00:00, 2026-11-30 00:00");
  EXPECT_EQ(ends(clock, quota_by(CalendarUnit::kWeek, 0), "2026-11-29 12:00:00"),
            "2026-11-23 00:00, 2026-11-30 00:00, 2026-12-07 00:00");
  EXPECT_EQ(ends(clock, quota_by(CalendarUnit::kWeek, 6), "2026-11-29 12:00:00"),
            "2026-11-29 00:00, 2026-12-06 00:00, 2026-12-13 00:00");
  EXPECT_EQ(ends(clock, quota_by(CalendarUnit::kMonth), "2024-02-29 12:00:00"),
            "2024-02-01 00:00, 2024-03-01 00:00, 2024-04-01 00:00");
  EXPECT_EQ(ends(clock, quota_by(CalendarUnit::kYear), "2024-12-31 23:59:59"),
            "2024-01-01 00:00, 2025-01-01 00:00, 2026-01-01 00:00");
}

TEST(Calendar, MonthsWithoutTheDayBeginOnTheirLast) {
  const CalendarClock clock;
  const auto last = quota_by(CalendarUnit::kMonth, 31);
  EXPECT_EQ(ends(clock, last, "2026-02-27 23:59:59"),
            "2026-01-31 00:00, 2026-02-28 00:00, 2026-03-31 00:00");
  EXPECT_EQ(ends(clock, last, "2024-02-29 00:00:00"),
            "2024-02-29 00:00, 2024-03-31 00:00, 2024-04-30 00:00");
  EXPECT_EQ(ends(clock, quota_by(CalendarUnit::kMonth, 29), "2026-02-28 00:00:00"),
            "2026-02-28 00:00, 2026-03-29 00:00, 2026-04-29 00:00");
  EXPECT_EQ(ends(clock, quota_by(CalendarUnit::kMonth, 30), "2024-02-28 23:59:59"),
            "2024-01-30 00:00, 2024-02-29 00:00, 2024-03-30 00:00");
}

TEST(Calendar, FollowsTheClocksOfItsZone) {
  const auto day = quota_by(CalendarUnit::kDay);
  // Clocks in Berlin go forward on 2026-03-29 and back on 2026-10-25.
  EXPECT_EQ(ends(clock_of("Europe/Berlin"), day, "2026-03-29 12:00:00"),
            "2026-03-28 23:00, 2026-03-29 22:00, 2026-03-30 22:00");
  EXPECT_EQ(ends(clock_of("Europe/Berlin", 9h), day, "2026-10-25 12:00:00"),
            "2026-10-25 08:00, 2026-10-26 08:00, 2026-10-27 08:00");
}

TEST(Calendar, SkippedTimesAreTheNextInstantAndDoubledOnesTheFirst) {
  const auto day = quota_by(CalendarUnit::kDay);
  const auto at_half_past_two = clock_of("Europe/Berlin", 2h + 30min);
  EXPECT_EQ(ends(at_half_past_two, day, "2026-03-29 00:59:59"),
            "2026-03-28 01:30, 2026-03-29 01:00, 2026-03-30 00:30");
  EXPECT_EQ(ends(at_half_past_two, day, "2026-10-25 00:59:59"),
            "2026-10-25 00:30, 2026-10-26 01:30, 2026-10-27 01:30");
  // Clocks in Santiago skip midnight.
  EXPECT_EQ(ends(clock_of("America/Santiago"), day, "2026-09-06 03:59:59"),
            "2026-09-05 04:00, 2026-09-06 04:00, 2026-09-07 03:00");
}

TEST(Calendar, ADayThatIsLeftOutIsNone) {
  const auto samoa = clock_of("Pacific/Apia");
  EXPECT_EQ(ends(samoa, quota_by(CalendarUnit::kDay), "2011-12-30 09:59:59"),
            "2011-12-29 10:00, 2011-12-30 10:00, 2011-12-31 10:00");
  EXPECT_EQ(ends(samoa, quota_by(CalendarUnit::kMonth, 30), "2011-12-30 10:00:00"),
            "2011-12-30 10:00, 2012-01-29 10:00, 2012-02-28 10:00");
}

TEST(Calendar, GoesOnBeyondWhatZonesList) {
  EXPECT_EQ(ends(clock_of("Europe/Berlin"), quota_by(CalendarUnit::kMonth), "2095-07-15 00:00:00"),
            "2095-06-30 22:00, 2095-07-31 22:00, 2095-08-31 22:00");
  EXPECT_EQ(
      ends(clock_of("Australia/Sydney"), quota_by(CalendarUnit::kYear), "2099-07-15 00:00:00"),
      "2098-12-31 13:00, 2099-12-31 13:00, 2100-12-31 13:00");
}

TEST(CalendarCache, SaysTheSameInAnyOrder) {
  CalendarCache cache;
  std::vector<std::pair<CalendarClock, Quota>> all;
  for (const char* zone : {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"}) {
    for (const auto resets_at : {0min, 540min}) {
      for (const auto unit : {CalendarUnit::kDay, CalendarUnit::kWeek, CalendarUnit::kMonth}) {
        for (const int day : {1, 3, 6}) {
          all.emplace_back(clock_of(zone, resets_at), quota_by(unit, day));
        }
      }
    }
  }
  Instant now = utc("2026-10-20 00:00:00");
  for (int step = 0; step < 2000; ++step) {
    now += step % 7 == 0 ? -17h : 5h;
    const auto& [clock, quota] = all[static_cast<std::size_t>(step) * 31 % all.size()];
    EXPECT_EQ(cache.window_ends(clock, quota, now), window_ends(clock, quota, now)) << step;
  }
}

TEST(Calendar, NamesWindows) {
  EXPECT_EQ(window_text(quota_by(CalendarUnit::kWeek)), "week");
  EXPECT_EQ(window_text(*Quota::make({.limit = 5, .window = 90min})), "1h30m");
}

}  // namespace
}  // namespace weir
