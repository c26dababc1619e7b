#include "rules/time/schedule.h"

#include <ctime>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::uint8_t kMonToFri = 0b0011111;

// "2026-03-27 07:59:59", UTC.
Instant utc(const char* text) {
  std::tm tm{};
  EXPECT_NE(strptime(text, "%Y-%m-%d %H:%M:%S", &tm), nullptr) << text;
  return instant_from_epoch_us(std::int64_t{timegm(&tm)} * 1'000'000);
}

TEST(Schedule, HoldsOnItsDaysBetweenItsHours) {
  const auto schedule = Schedule::make({.days = kMonToFri, .from = 8h, .to = 18h});
  EXPECT_FALSE(schedule->holds(utc("2026-03-27 07:59:59")));  // a Friday
  EXPECT_TRUE(schedule->holds(utc("2026-03-27 08:00:00")));
  EXPECT_TRUE(schedule->holds(utc("2026-03-27 17:59:59")));
  EXPECT_FALSE(schedule->holds(utc("2026-03-27 18:00:00")));
  EXPECT_FALSE(schedule->holds(utc("2026-03-28 12:00:00")));
  EXPECT_FALSE(schedule->holds(utc("2026-03-29 12:00:00")));
  EXPECT_TRUE(schedule->holds(utc("2026-03-30 12:00:00")));
  EXPECT_TRUE(schedule->holds(utc("1969-12-31 12:00:00")));  // a Wednesday
}

TEST(Schedule, FollowsTheClocksOfItsZone) {
  // Clocks in Berlin go forward on 2026-03-29 and back on 2026-10-25.
  const auto berlin = Schedule::make({.from = 8h, .to = 18h, .zone = "Europe/Berlin"});
  EXPECT_FALSE(berlin->holds(utc("2026-03-28 06:59:59")));
  EXPECT_TRUE(berlin->holds(utc("2026-03-28 07:00:00")));
  EXPECT_FALSE(berlin->holds(utc("2026-03-29 05:59:59")));
  EXPECT_TRUE(berlin->holds(utc("2026-03-29 06:00:00")));
  EXPECT_FALSE(berlin->holds(utc("2026-03-29 16:00:00")));
  EXPECT_TRUE(berlin->holds(utc("2026-10-24 06:00:00")));
  EXPECT_FALSE(berlin->holds(utc("2026-10-25 06:59:59")));
  EXPECT_TRUE(berlin->holds(utc("2026-10-25 07:00:00")));
}

TEST(Schedule, HasAnHourLessOrMoreWhenClocksChange) {
  const auto night = Schedule::make({.from = 2h, .to = 3h, .zone = "Europe/Berlin"});
  const auto seconds_on = [&](const char* begin) {
    int seconds = 0;
    for (auto i = 0s; i < 24h; i += 60s) seconds += night->holds(utc(begin) + i) ? 60 : 0;
    return seconds;
  };
  EXPECT_EQ(seconds_on("2026-03-28 00:00:00"), 3600);
  EXPECT_EQ(seconds_on("2026-03-29 00:00:00"), 0);
  EXPECT_EQ(seconds_on("2026-10-25 00:00:00"), 7200);
}

TEST(Schedule, GoesOverMidnightFromTheDayOnWhichItBegins) {
  const auto friday_night =
      Schedule::make({.days = *parse_days("fri"), .from = 22h, .to = 6h, .zone = "UTC"});
  EXPECT_FALSE(friday_night->holds(utc("2026-03-27 05:00:00")));
  EXPECT_FALSE(friday_night->holds(utc("2026-03-27 21:59:59")));
  EXPECT_TRUE(friday_night->holds(utc("2026-03-27 22:00:00")));
  EXPECT_TRUE(friday_night->holds(utc("2026-03-28 05:59:59")));
  EXPECT_FALSE(friday_night->holds(utc("2026-03-28 06:00:00")));
  EXPECT_FALSE(friday_night->holds(utc("2026-03-28 23:00:00")));
  const auto sunday_night = Schedule::make({.days = *parse_days("sun"), .from = 22h, .to = 6h});
  EXPECT_TRUE(sunday_night->holds(utc("2026-03-30 03:00:00")));  // a Monday
}

TEST(Schedule, SaysWhenItBeginsNext) {
  const auto office =
      Schedule::make({.days = kMonToFri, .from = 8h, .to = 18h, .zone = "Europe/Berlin"});
  EXPECT_EQ(office->next(utc("2026-03-27 06:59:59")), utc("2026-03-27 07:00:00"));
  EXPECT_EQ(office->next(utc("2026-03-27 07:00:00")), utc("2026-03-30 06:00:00")) << "in summer";
  EXPECT_EQ(office->next(utc("2026-10-24 12:00:00")), utc("2026-10-26 07:00:00"));
  const auto night = Schedule::make({.from = 2h, .to = 3h, .zone = "Europe/Berlin"});
  EXPECT_EQ(night->next(utc("2026-03-28 12:00:00")), utc("2026-03-30 00:00:00"))
      << "the 29th has no such hour";
  const auto over_midnight = Schedule::make({.days = *parse_days("fri"), .from = 22h, .to = 6h});
  EXPECT_EQ(over_midnight->next(utc("2026-03-28 06:00:00")), utc("2026-04-03 22:00:00"));
}

TEST(Schedule, KnowsTheZonesOfTheSystem) {
  EXPECT_TRUE(Schedule::make({.zone = "America/New_York"}));
  EXPECT_FALSE(Schedule::make({.zone = "Europe/Atlantis"}));
  EXPECT_FALSE(Schedule::make({.zone = ""}));
  EXPECT_FALSE(Schedule::make({.zone = "../../etc/passwd"}));
}

TEST(Schedule, ReadsDaysAndTimes) {
  EXPECT_EQ(parse_days("mon"), 0b0000001);
  EXPECT_EQ(parse_days("mon-fri"), kMonToFri);
  EXPECT_EQ(parse_days("sat-mon"), 0b1100001);
  EXPECT_EQ(parse_days("tue-mon"), 0b1111111);
  for (const char* text : {"", "Mon", "monday", "mon-", "-fri", "mon-fri-sun"}) {
    EXPECT_EQ(parse_days(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_time_of_day("00:00"), 0min);
  EXPECT_EQ(parse_time_of_day("08:30"), 510min);
  EXPECT_EQ(parse_time_of_day("24:00"), 24h);
  for (const char* text : {"", "8:00", "08:60", "24:01", "-1:00", "08:-1", "08.00", "0x:00"}) {
    EXPECT_EQ(parse_time_of_day(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weir
