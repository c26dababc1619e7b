#include "algo/calendar_window.h"

#include <gtest/gtest.h>

#include "algo/fixed_window.h"
#include "algo/testing/any_key.h"
#include "base/prng.h"

namespace weir::algo {
namespace {

using namespace std::chrono_literals;
using testing::AnyKey;

constexpr Instant kMidnight = instant_from_epoch_us(1'700'006'400'000'000);
constexpr WindowEnds kEnds{kMidnight, kMidnight + 24h, kMidnight + 47h};

Quota quota_until(const WindowEnds& ends, std::int64_t limit = 5) {
  auto quota = *Quota::make({Algorithm::kCalendarWindow, limit, 24h});
  quota.set_window_ends(ends);
  return quota;
}

TEST(CalendarWindow, CountsUntilTheWindowEnds) {
  const Quota quota = quota_until(kEnds);
  AnyKey key(Algorithm::kCalendarWindow);
  const Decision first = key.decide(quota, 5, kMidnight + 1h);
  EXPECT_EQ(first.remaining, 0);
  EXPECT_EQ(first.reset_after, 23h);
  EXPECT_EQ(first.more_after, 23h);
  EXPECT_EQ(key.decide(quota, 1, kMidnight + 24h - 1us).retry_after, 1us);
  const Decision next = key.decide(quota, 1, kMidnight + 24h);
  EXPECT_EQ(next.remaining, 4);
  EXPECT_EQ(next.reset_after, 23h) << "the day of summer time";
}

TEST(CalendarWindow, WhoeverDecidesChoosesAmongTheThree) {
  const Quota quota = quota_until(kEnds);
  for (const auto& [now, left] : {std::pair(kMidnight - 1h, 1h),
                                  {kMidnight + 1h, 23h},
                                  {kMidnight + 25h, 22h},
                                  {kMidnight + 48h, 23h}}) {
    AnyKey key(Algorithm::kCalendarWindow);
    EXPECT_EQ(key.decide(quota, 5, now).reset_after, left);
  }
}

TEST(CalendarWindow, ClockThatLagsIsBelieved) {
  const Quota quota = quota_until(kEnds);
  AnyKey key(Algorithm::kCalendarWindow);
  key.decide(quota, 3, kMidnight + 24h);
  EXPECT_EQ(key.decide(quota, 1, kMidnight + 24h - 1us).remaining, 1);
  EXPECT_EQ(key.decide(quota, 1, kMidnight + 24h + 1us).remaining, 0);
}

TEST(CalendarWindow, AnotherCalendarGivesNoFreshQuota) {
  const Quota quota = quota_until(kEnds);
  for (const Duration moved : {Duration(1s), Duration(-1s), Duration(9h), Duration(-9h)}) {
    const Quota other =
        quota_until({kEnds.previous + moved, kEnds.current + moved, kEnds.next + moved});
    AnyKey key(Algorithm::kCalendarWindow);
    key.decide(quota, 5, kMidnight + 10h);
    EXPECT_EQ(key.look(other, 1, kMidnight + 10h).verdict, Verdict::kDenied);
    const Decision denied = key.decide(other, 1, kMidnight + 10h);
    EXPECT_EQ(denied.verdict, Verdict::kDenied);
    EXPECT_EQ(denied.retry_after, 14h + moved);
    EXPECT_EQ(key.decide(other, 1, kMidnight + 24h + moved - 1us).verdict, Verdict::kDenied)
        << "the denial is kept in the calendar that denied";
    EXPECT_EQ(key.decide(other, 1, kMidnight + 24h + moved).remaining, 4);
    EXPECT_EQ(key.decide(quota, 0, kMidnight + 24h + moved).remaining, 4) << "and back";
  }
}

TEST(CalendarWindow, MistakenClockNeitherFreesNorBlocksForLong) {
  AnyKey key(Algorithm::kCalendarWindow);
  const Duration years = 24h * 4000;
  key.decide(quota_until({kEnds.previous + years, kEnds.current + years, kEnds.next + years}), 5,
             kMidnight + years + 1h);
  const Quota quota = quota_until(kEnds);
  EXPECT_EQ(key.decide(quota, 1, kMidnight + 1h).retry_after, 23h);
  EXPECT_EQ(key.decide(quota, 1, kMidnight + 24h).remaining, 4);
}

TEST(CalendarWindow, GivesBackWhatItsOwnWindowHolds) {
  const Quota quota = quota_until(kEnds);
  AnyKey key(Algorithm::kCalendarWindow);
  key.decide(quota, 3, kMidnight + 1h);
  EXPECT_EQ(key.decide(quota, -2, kMidnight + 2h).remaining, 4);
  EXPECT_EQ(key.decide(quota, -2, kMidnight + 25h).remaining, 5);
  key.decide(quota, 3, kMidnight + 25h);
  EXPECT_EQ(key.decide(quota, -2, kMidnight + 23h).remaining, 2) << "it is the next one's";
}

// A calendar whose days have equal lengths is a fixed window, whatever clocks and costs do.
TEST(CalendarWindow, DecidesAsAFixedWindowWhereDaysAreEqual) {
  const Quota fixed = *Quota::make({Algorithm::kFixedWindow, 5, 24h});
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed);
    const auto below = [&](std::uint64_t most) {
      return static_cast<std::int64_t>(prng.next() % most);
    };
    FixedWindowState one;
    CalendarWindowState other;
    Instant now = kMidnight + Duration(below(86'400'000'000));
    for (int step = 0; step < 60; ++step) {
      constexpr std::array<Duration, 6> kSteps{0us, 1us, 1h, 23h, 50h, -5h};
      now += kSteps[static_cast<std::size_t>(below(6))] + Duration(below(1'000'000));
      if (below(30) == 0) now -= 24h * below(9);
      const Instant begin = now - (now - kMidnight + 24h * 1000) % 24h;
      const Quota quota =
          below(4) == 0 ? quota_until({}) : quota_until({begin, begin + 24h, begin + 48h});
      const std::int64_t cost = below(9) - 2;
      const bool charges = below(4) == 0;
      const auto expected = charges ? charge(fixed, one, cost, now) : decide(fixed, one, cost, now);
      const auto found =
          charges ? charge(quota, other, cost, now) : decide(quota, other, cost, now);
      ASSERT_EQ(found.decision, expected.decision) << seed << ", step " << step;
      ASSERT_EQ(found.changed, expected.changed) << seed << ", step " << step;
      one = expected.state;
      other = found.state;
    }
  }
}

TEST(CalendarWindow, WindowIsADayAWeekAMonthOrAYear) {
  EXPECT_TRUE(Quota::make({Algorithm::kCalendarWindow, 5, kWindowMax}));
  const auto other = Quota::make({Algorithm::kCalendarWindow, 5, 1h});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().field, "window");
  EXPECT_EQ(algorithm_name(Algorithm::kCalendarWindow), "fixed_window");
}

}  // namespace
}  // namespace weir::algo
