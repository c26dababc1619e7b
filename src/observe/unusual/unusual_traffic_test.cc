#include "observe/unusual/unusual_traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "observe/unusual/recorded_traffic_testing.h"

namespace weir {
namespace {

using testing::kDay;
using testing::kHour;
using testing::kMinute;
using testing::kShapeNames;
using testing::kWeek;
using testing::RecordedTraffic;
using testing::Shape;
using enum UnusualTraffic::Change;

constexpr double kRates[] = {0.02, 0.5, 8, 100, 3'000};

bool is_long() {
  const char* const wanted = std::getenv("WEIR_TESTS");
  return wanted != nullptr && std::string_view(wanted) == "long";
}

// Adds the same count in each of `seconds`. Returns the last change that was not kNone.
UnusualTraffic::Change add(UnusualTraffic& traffic, std::int64_t& second, std::int64_t seconds,
                           std::uint64_t requests) {
  auto last = kNone;
  for (std::int64_t i = 0; i < seconds; ++i) {
    const auto change = traffic.add(second++, requests);
    if (change != kNone) last = change;
  }
  return last;
}

std::string text_of(const RecordedTraffic::Start& start) {
  std::ostringstream text;
  text << kShapeNames[static_cast<std::size_t>(start.shape)] << " at " << start.rate << "/s from "
       << start.second << " s of the week on, seed " << start.seed;
  return text.str();
}

// How many events began in a rule's week. Prints them.
int events_in_week(const RecordedTraffic::Start& start) {
  RecordedTraffic recorded(start);
  UnusualTraffic traffic;
  int events = 0;
  for (std::int64_t second = 0; second < kWeek; ++second) {
    if (traffic.add(second, recorded.next()) != kBegan) continue;
    ++events;
    std::cout << text_of(start) << ": day " << second / kDay << ", " << second % kDay
              << " s: " << traffic.level() << "/s is above " << traffic.band().high << "/s, median "
              << traffic.band().median << "/s\n";
  }
  return events;
}

// Lets `traffic` see an hour of traffic.
RecordedTraffic learned_hour(RecordedTraffic::Start start, UnusualTraffic& traffic) {
  start.second -= kHour;
  RecordedTraffic recorded(start);
  for (std::int64_t i = 0; i < kHour; ++i) {
    const auto second = recorded.second();
    EXPECT_EQ(traffic.add(second, recorded.next()), kNone) << text_of(start);
  }
  return recorded;
}

// After how many seconds a step to `times` the rate is found; 99: not within the ten allowed.
std::int64_t seconds_to_find(RecordedTraffic& recorded, UnusualTraffic& traffic, double times) {
  for (std::int64_t seconds = 1; seconds <= 10; ++seconds) {
    const auto second = recorded.second();
    if (traffic.add(second, recorded.next(times)) == kBegan) return seconds;
  }
  return 99;
}

// ---- recorded weeks ----

// At most one false alarm in 10,000 hours of rules. A short run has 7,560 such hours: each shape at
// each rate once.
TEST(UnusualTraffic, RaisesNothingOnOrdinaryWeeks) {
  const std::uint64_t seeds = is_long() ? 30 : 1;
  std::int64_t hours = 0;
  int events = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (std::size_t shape = 0; shape < kShapeNames.size(); ++shape) {
      for (const double rate : kRates) {
        events += events_in_week(
            {.shape = static_cast<Shape>(shape), .rate = rate, .second = 0, .seed = seed});
        hours += kWeek / kHour;
      }
    }
  }
  std::cout << events << " events in " << hours << " hours of rules\n";
  EXPECT_LE(events, std::max<std::int64_t>(1, hours / 10'000));
}

// Tries every hour that has 10 requests/s.
TEST(UnusualTraffic, FindsThreeTimesTheRateWithinTenSeconds) {
  int steps = 0;
  for (const auto shape : {Shape::kSteady, Shape::kDailyPeak, Shape::kWorkWeek}) {
    for (const double rate : {10.0, 15.0, 30.0, 300.0, 3'000.0, 30'000.0}) {
      for (const std::int64_t hour : {3, 9, 14, 20, 75, 129}) {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
          const RecordedTraffic::Start start{
              .shape = shape, .rate = rate, .second = hour * kHour, .seed = seed};
          UnusualTraffic traffic;
          RecordedTraffic recorded = learned_hour(start, traffic);
          if (recorded.rate() < 10) continue;
          ++steps;
          EXPECT_LE(seconds_to_find(recorded, traffic, 3), 10) << text_of(start);
        }
      }
    }
  }
  std::cout << steps << " steps to three times the rate\n";
}

// Tries every shape and rate, sparse and restless ones, too.
TEST(UnusualTraffic, FindsThreeTimesTheBandWithinTenSeconds) {
  int steps = 0;
  for (std::size_t shape = 0; shape < kShapeNames.size(); ++shape) {
    for (const double rate : kRates) {
      for (const std::int64_t hour : {3, 9, 14, 20, 75, 129}) {
        const RecordedTraffic::Start start{.shape = static_cast<Shape>(shape),
                                           .rate = rate,
                                           .second = hour * kHour,
                                           .seed = static_cast<std::uint64_t>(hour)};
        UnusualTraffic traffic;
        (void)learned_hour(start, traffic);
        if (!traffic.has_learned()) continue;  // its first request came too late
        RecordedTraffic step({.shape = Shape::kSteady,
                              .rate = 3 * traffic.band().high,
                              .second = start.second,
                              .seed = start.seed});
        ++steps;
        EXPECT_LE(seconds_to_find(step, traffic, 1), 10) << text_of(start);
      }
    }
  }
  std::cout << steps << " steps to three times the band\n";
}

// Much faster than rises in the recorded weeks.
TEST(UnusualTraffic, FortyTimesAsMuchAnHourLaterIsASlowRise) {
  for (const double rate : {1.0, 10.0, 100.0, 1'000.0}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      RecordedTraffic recorded({.shape = Shape::kSteady, .rate = rate, .second = 0, .seed = seed});
      UnusualTraffic traffic;
      for (std::int64_t second = 0; second < 2 * kHour; ++second) {
        const double hours = std::max(0.0, static_cast<double>(second - kHour) / kHour);
        ASSERT_EQ(traffic.add(second, recorded.next(std::pow(40, hours))), kNone)
            << rate << "/s, " << second << " s, seed " << seed;
      }
    }
  }
}

// ---- single cases ----

TEST(UnusualTraffic, LearnsBeforeItJudges) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  EXPECT_EQ(add(traffic, second, 30, 100), kNone);
  EXPECT_EQ(add(traffic, second, 20, 1'000), kNone);
  EXPECT_FALSE(traffic.is_unusual());
}

// Regression: a step was learned if a level was due before the three quietest seconds had risen,
// too. The level of the step's first seconds was the upper one of two, so it was the median.
TEST(UnusualTraffic, AStepIsNotLearnedBeforeItIsFound) {
  for (std::int64_t before = 8; before < 40; ++before) {
    for (const std::uint64_t first : {20, 85, 300}) {
      UnusualTraffic traffic(1);
      std::int64_t second = 1'000;
      EXPECT_EQ(add(traffic, second, before, 20), kNone);
      EXPECT_EQ(traffic.add(second++, first), kNone);
      EXPECT_EQ(add(traffic, second, 10, 300), kBegan) << before << " s, then " << first << "/s";
    }
  }
}

// Otherwise a node that started later would find other events than the fleet.
TEST(UnusualTraffic, HasTheSameBandWheneverItHasBegun) {
  const RecordedTraffic::Start start{
      .shape = Shape::kDailyPeak, .rate = 100, .second = 0, .seed = 1};
  RecordedTraffic recorded(start);
  UnusualTraffic early;
  UnusualTraffic late;
  for (std::int64_t second = 0; second < kHour; ++second) {
    const auto requests = recorded.next();
    early.add(second, requests);
    if (second >= 500) late.add(second, requests);
  }
  EXPECT_EQ(early.band().median, late.band().median);
  EXPECT_EQ(early.band().high, late.band().high);
}

TEST(UnusualTraffic, SaysSinceWhenAndHowFar) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 100);
  EXPECT_EQ(second, 1'700);
  EXPECT_NEAR(traffic.band().median, 100, 0.1);
  EXPECT_NEAR(traffic.band().high, 200, 0.2);
  EXPECT_EQ(add(traffic, second, 10, 1'000), kBegan);
  EXPECT_TRUE(traffic.is_unusual());
  EXPECT_EQ(traffic.since(), 1'700);
  EXPECT_EQ(traffic.peak(), 1'000);
  EXPECT_NEAR(traffic.band().median, 100, 0.1);
}

TEST(UnusualTraffic, EndsWhenTheLevelWasBackForHalfAMinute) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 100);
  EXPECT_EQ(add(traffic, second, 60, 1'000), kBegan);
  EXPECT_EQ(add(traffic, second, 20, 100), kNone);
  EXPECT_EQ(add(traffic, second, 20, 1'000), kNone);  // one event, not two
  EXPECT_EQ(add(traffic, second, 29, 100), kNone);
  EXPECT_EQ(add(traffic, second, 10, 100), kEnded);
  EXPECT_FALSE(traffic.is_unusual());
  EXPECT_NEAR(traffic.band().median, 100, 0.1);  // it has not learned from the event
}

TEST(UnusualTraffic, TakesWhatLastsAnHourForUsual) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 100);
  EXPECT_EQ(add(traffic, second, 3'600, 1'000), kBegan);
  EXPECT_EQ(add(traffic, second, 1, 1'000), kEnded);
  EXPECT_EQ(add(traffic, second, 3'600, 1'000), kNone);
  EXPECT_NEAR(traffic.band().median, 1'000, 1);
}

TEST(UnusualTraffic, BurstsOfTwoSecondsAreNone) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 20);
  for (int burst = 0; burst < 50; ++burst) {
    EXPECT_EQ(add(traffic, second, 2, 5'000), kNone);
    EXPECT_EQ(add(traffic, second, 10, 20), kNone);
  }
}

// No event, either, if it has lasted so long that the rule learns from the beginning.
TEST(UnusualTraffic, KnowsTheTrafficThatReturnsAfterAnOutage) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 1'300, 100);
  EXPECT_EQ(add(traffic, second, 25 * kMinute, 0), kNone);
  EXPECT_EQ(add(traffic, second, 1'300, 100), kNone);
  EXPECT_EQ(add(traffic, second, 45 * kMinute, 0), kNone);
  EXPECT_EQ(add(traffic, second, 1'300, 100), kNone);
  EXPECT_EQ(add(traffic, second, 10, 1'000), kBegan);
}

// Seconds with unknown requests are not seconds without requests.
TEST(UnusualTraffic, UnknownSecondsAreNotLearned) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 100);
  for (int i = 0; i < 1'200; ++i) EXPECT_EQ(traffic.add(second++, std::nullopt), kNone);
  EXPECT_NEAR(traffic.band().median, 100, 0.1);
  EXPECT_EQ(add(traffic, second, 60, 100), kNone);
  for (int i = 0; i < 2'000; ++i) EXPECT_EQ(traffic.add(second++, std::nullopt), kNone);
  EXPECT_EQ(add(traffic, second, 30, 1'000), kNone);  // it learns again
}

// Otherwise limits that an event has lowered would stay low.
TEST(UnusualTraffic, AnEventEndsThoughNobodyKnowsTheRequests) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 100);
  EXPECT_EQ(add(traffic, second, 10, 1'000), kBegan);
  int ends = 0;
  for (std::int64_t i = 0; i < kHour; ++i) ends += traffic.add(second++, std::nullopt) == kEnded;
  EXPECT_EQ(ends, 1);
}

TEST(UnusualTraffic, IgnoresSecondsThatItKnows) {
  UnusualTraffic traffic(60);
  std::int64_t second = 1'000;
  add(traffic, second, 700, 100);
  for (std::int64_t old = second - 20; old < second; ++old) {
    EXPECT_EQ(traffic.add(old, 100'000), kNone);
  }
  EXPECT_EQ(traffic.level(), 100);
}

// There is one for each rule.
TEST(UnusualTraffic, IsSmall) { EXPECT_LE(sizeof(UnusualTraffic), 1'024u); }

}  // namespace
}  // namespace weir
