#include "observe/unusual/traffic_watch.h"

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "observe/unusual/unusual_rules.h"

namespace weir {
namespace {

using Scope = TrafficSnapshot::Scope;
using enum UnusualTraffic::Change;
using Requests = std::map<RuleNumber, std::uint64_t>;

// Snapshots of traffic that goes on second by second.
class Seconds {
 public:
  explicit Seconds(Scope scope) { snapshot_.scope = scope; }

  const TrafficSnapshot& next(const Requests& requests) {
    auto second = std::make_shared<TrafficSecond>();
    for (const auto& [rule, count] : requests) {
      second->rules.push_back({.rule = rule, .counts = {.requests = count}});
    }
    snapshot_.sum.push(std::move(second));
    snapshot_.newest += 1;
    snapshot_.known_seconds = TrafficWindow::kSeconds;
    return snapshot_;
  }
  TrafficSnapshot& snapshot() { return snapshot_; }

 private:
  TrafficSnapshot snapshot_;
};

// Lets `watch` see `count` equal seconds. Returns the last event that it found.
std::optional<TrafficWatch::Found> see(TrafficWatch& watch, Seconds& seconds, int count,
                                       const Requests& requests) {
  std::optional<TrafficWatch::Found> last;
  for (int i = 0; i < count; ++i) {
    for (const auto& found : watch.look(seconds.next(requests))) last = found;
  }
  return last;
}

TEST(TrafficWatch, FindsTheRuleWhoseTrafficIsUnusual) {
  TrafficWatch watch({.learn_s = 60});
  Seconds seconds(Scope::kNode);
  EXPECT_FALSE(see(watch, seconds, 300, {{1, 50}, {2, 50}}));
  const auto began = see(watch, seconds, 10, {{1, 50}, {2, 500}});
  ASSERT_TRUE(began);
  EXPECT_EQ(began->rule, 2u);
  EXPECT_EQ(began->change, kBegan);
  EXPECT_EQ(began->traffic.since(), 301);
  const auto ended = see(watch, seconds, 40, {{1, 50}, {2, 50}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->rule, 2u);
  EXPECT_EQ(ended->change, kEnded);
}

// A late look sees the seconds in between.
TEST(TrafficWatch, MissesNoSecond) {
  TrafficWatch watch({.learn_s = 60});
  Seconds seconds(Scope::kNode);
  see(watch, seconds, 300, {{1, 50}});
  for (int i = 0; i < 7; ++i) seconds.next({{1, 500}});
  EXPECT_EQ(watch.look(seconds.next({{1, 500}})).size(), 1u);
}

// The seconds before Redis came back are unknown, not seconds without requests.
TEST(TrafficWatch, DoesNotLearnSecondsThatNobodyKnows) {
  TrafficWatch watch({.scope = Scope::kFleet, .learn_s = 60});
  Seconds seconds(Scope::kFleet);
  see(watch, seconds, 300, {{1, 50}});
  for (int i = 0; i < 300; ++i) {
    seconds.next({});
    seconds.snapshot().known_seconds = 0;
    watch.look(seconds.snapshot());
  }
  EXPECT_FALSE(see(watch, seconds, 60, {{1, 50}}));
  const auto began = see(watch, seconds, 10, {{1, 500}});
  ASSERT_TRUE(began);
  EXPECT_NEAR(began->traffic.band().median, 50, 0.1);
}

TEST(TrafficWatch, LooksAtNothingTwice) {
  TrafficWatch watch({.learn_s = 60});
  Seconds seconds(Scope::kNode);
  see(watch, seconds, 300, {{1, 50}});
  const auto& snapshot = seconds.next({{1, 5'000}});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(watch.look(snapshot).empty());
}

TEST(TrafficWatch, AMemberOfAFleetJudgesByTheFleetsSums) {
  TrafficWatch watch({.scope = Scope::kFleet, .learn_s = 60});
  Seconds seconds(Scope::kFleet);
  see(watch, seconds, 300, {{1, 50}});
  seconds.snapshot().scope = Scope::kNode;  // Redis is away, so the clock is another one
  seconds.snapshot().newest += 10'000;
  EXPECT_FALSE(see(watch, seconds, 100, {{1, 500}}));
  seconds.snapshot().scope = Scope::kFleet;
  seconds.snapshot().newest -= 10'000;
  EXPECT_FALSE(see(watch, seconds, 60, {{1, 50}}));
  EXPECT_TRUE(see(watch, seconds, 10, {{1, 500}}));
}

TEST(TrafficWatch, AnEventEndsWhileRedisIsAway) {
  TrafficWatch watch({.scope = Scope::kFleet, .learn_s = 60});
  Seconds seconds(Scope::kFleet);
  see(watch, seconds, 300, {{1, 50}});
  EXPECT_TRUE(see(watch, seconds, 10, {{1, 500}}));
  seconds.snapshot().scope = Scope::kNode;
  const auto ended = see(watch, seconds, 3'700, {{1, 500}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->change, kEnded);
}

// A second may lack some nodes' counts of rules that are not among the busiest.
TEST(TrafficWatch, WatchesTheBusiestOfAFleetWithManyRules) {
  TrafficWatch watch({.scope = Scope::kFleet, .learn_s = 60});
  Seconds seconds(Scope::kFleet);
  Requests many;
  for (RuleNumber rule = 0; rule < 150; ++rule) many[rule] = rule < 100 ? 500 : 50;
  EXPECT_FALSE(see(watch, seconds, 300, many));
  many[120] = 450;
  EXPECT_FALSE(see(watch, seconds, 20, many));
  many[20] = 5'000;
  const auto found = see(watch, seconds, 20, many);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rule, 20u);
}

TEST(TrafficWatch, BeginsAnewWhenTheClockIsSetBack) {
  TrafficWatch watch({.learn_s = 60});
  Seconds seconds(Scope::kNode);
  see(watch, seconds, 1'000, {{1, 50}});
  EXPECT_TRUE(see(watch, seconds, 10, {{1, 500}}));
  seconds.snapshot().newest -= 500;
  const auto ended = see(watch, seconds, 1, {{1, 500}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->change, kEnded);
  EXPECT_FALSE(see(watch, seconds, 300, {{1, 500}}));
  EXPECT_TRUE(see(watch, seconds, 10, {{1, 5'000}}));
}

TEST(TrafficWatch, WatchesSoManyRulesAndNoMore) {
  TrafficWatch watch({.learn_s = 10});
  Seconds seconds(Scope::kNode);
  Requests many;
  for (RuleNumber rule = 0; rule <= TrafficWatch::kRulesMax; ++rule) many[rule] = 50;
  see(watch, seconds, 20, many);
  many[TrafficWatch::kRulesMax] = 5'000;
  EXPECT_FALSE(see(watch, seconds, 10, many));
  many[0] = 5'000;
  EXPECT_TRUE(see(watch, seconds, 10, many));
}

TEST(UnusualRules, HoldsEachRuleByItself) {
  UnusualRules rules;
  rules.begin(64);
  rules.begin(kNoRuleNumber);
  EXPECT_TRUE(rules.holds(64));
  EXPECT_FALSE(rules.holds(0));
  EXPECT_FALSE(rules.holds(65));
  EXPECT_FALSE(rules.holds(kNoRuleNumber));
  rules.end(64);
  EXPECT_FALSE(rules.holds(64));
}

}  // namespace
}  // namespace weir
