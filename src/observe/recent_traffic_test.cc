#include "observe/recent_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Scope = TrafficSnapshot::Scope;

// A whole second, and the moment after it when it counts as ended.
constexpr std::int64_t kStartSecond = 1'000'000;
constexpr Instant kStart = instant_from_epoch_us(kStartSecond * 1'000'000);
constexpr Duration kBehind = 5ms;

class RecentTrafficTest : public ::testing::Test {
 protected:
  void requests(int times, Verdict verdict = Verdict::kAllowed, std::string_view rule = {}) {
    const Decision decision{.verdict = verdict};
    for (int i = 0; i < times; ++i) {
      core_.record(decision, Algorithm::kSlidingWindow, now_);
      if (rule.empty()) continue;
      const RuleOutcome outcome = decision.allowed() ? RuleOutcome::kAllowed : RuleOutcome::kDenied;
      core_.record_rule(traffic_.rules().number_of(rule), outcome, 1, now_);
    }
  }
  // Moves time on, with a tick whenever one is due.
  void advance(Duration by) {
    const Instant end = now_ + by;
    while (recent_.next_tick() <= end) {
      now_ = std::max(now_, recent_.next_tick());
      recent_.tick(now_);
    }
    now_ = end;
  }
  void hear(std::int64_t second, std::vector<RecentTraffic::NodeSecond> nodes) {
    const bool has_self = std::ranges::count(nodes, "a", &RecentTraffic::NodeSecond::name) > 0;
    recent_.hear({.second = second, .nodes = std::move(nodes), .has_self = has_self}, now_);
  }
  static RecentTraffic::NodeSecond node(std::string name, TrafficSecond counts) {
    RecentTraffic::NodeSecond node{
        .name = std::move(name), .counts = std::move(counts), .totals = {}};
    node.totals.decisions[0] = 1000;
    return node;
  }

  Instant now_ = kStart;
  Traffic traffic_;
  CoreTraffic& core_ = traffic_.add_core();
  RecentTraffic recent_{traffic_, now_};
};

TEST_F(RecentTrafficTest, ASecondIsThereWhenItHasEnded) {
  EXPECT_EQ(recent_.next_tick(), kStart + kBehind);
  advance(kBehind);
  requests(3, Verdict::kAllowed, "login");
  requests(2, Verdict::kDenied, "login");
  requests(1);
  advance(999ms);
  EXPECT_EQ(recent_.snapshot()->sum.all(), TrafficCounts{});
  advance(1ms);
  const auto snapshot = recent_.snapshot();
  EXPECT_EQ(snapshot->scope, Scope::kNode);
  EXPECT_EQ(snapshot->newest, kStartSecond);
  EXPECT_EQ(snapshot->sum.second(0).all, (TrafficCounts{6, 2}));
  const RuleNumber login = traffic_.rules().number_of("login");
  EXPECT_EQ(snapshot->sum.of(login), (TrafficCounts{5, 2}));
  core_.record_rule(login, RuleOutcome::kBlocked, 1, now_);
  core_.record_rule(login, RuleOutcome::kShadow, 1, now_);
  advance(1s);
  EXPECT_EQ(recent_.snapshot()->sum.second(0).of(login), (TrafficCounts{2, 1, 1}));
  ASSERT_EQ(snapshot->nodes.size(), 1u);
  EXPECT_EQ(snapshot->nodes[0].window.of(login), (TrafficCounts{5, 2}));
  EXPECT_EQ(snapshot->totals.requests(), 6u);
}

TEST_F(RecentTrafficTest, EachRequestCountsInOneSecond) {
  for (int i = 0; i < 40; ++i) {
    requests(1, Verdict::kAllowed, "r");
    advance(130ms);
  }
  advance(1s);
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{40, 0}));
  EXPECT_EQ(recent_.snapshot()->sum.of(0), (TrafficCounts{40, 0}));
  advance(10s);
  EXPECT_EQ(recent_.snapshot()->sum.all(), TrafficCounts{});
  EXPECT_EQ(recent_.snapshot()->totals.requests(), 40u);
}

TEST_F(RecentTrafficTest, WhatWasCountedBeforeItBeganIsNoTraffic) {
  requests(7, Verdict::kAllowed, "r");
  RecentTraffic later(traffic_, now_);
  later.tick(now_ + 2s);
  EXPECT_EQ(later.snapshot()->sum.all(), TrafficCounts{});
  EXPECT_EQ(later.snapshot()->sum.of(0), TrafficCounts{});
}

TEST_F(RecentTrafficTest, SecondsInWhichNobodyTickedWereIdle) {
  advance(1s + kBehind);
  requests(8);
  now_ += 4s;
  recent_.tick(now_);
  const auto snapshot = recent_.snapshot();
  EXPECT_EQ(snapshot->seconds_running, 6);
  EXPECT_EQ(snapshot->newest, kStartSecond + 4);
  EXPECT_EQ(snapshot->sum.all(1), (TrafficCounts{8, 0}));
  EXPECT_EQ(snapshot->sum.all(), (TrafficCounts{8, 0}));
  now_ += std::chrono::hours(1000);  // as after a suspend
  recent_.tick(now_);
  EXPECT_EQ(recent_.snapshot()->sum.all(), TrafficCounts{});
  EXPECT_GT(recent_.next_tick(), now_);
}

TEST_F(RecentTrafficTest, SecondsFollowTheClockThatIsAhead) {
  advance(1s);
  recent_.set_lead(std::chrono::hours(1) + 300ms);
  advance(1s);
  // In that second it is 300 ms later there than here.
  EXPECT_EQ(recent_.next_tick(), kStart + 2s + 700ms + kBehind);
  EXPECT_EQ(recent_.snapshot()->newest, kStartSecond + 3600 + 1);
  // A longer trip moves the end of a second, but makes no second of its own.
  const std::int64_t before = recent_.seconds();
  recent_.set_lead(std::chrono::hours(1) + 299ms);
  advance(1s);
  EXPECT_EQ(recent_.seconds(), before + 1);
  recent_.set_lead(-std::chrono::hours(5));
  advance(10s);
  EXPECT_EQ(recent_.seconds(), before + 10);
}

TEST_F(RecentTrafficTest, SumsWhatNodesHaveSent) {
  const RuleNumber login = traffic_.rules().number_of("login");
  hear(500, {node("a", {.all = {10, 1}, .rules = {{login, {10, 1}}}}),
             node("b", {.all = {20, 2}, .rules = {{login, {15, 2}}}})});
  hear(501, {node("b", {.all = {30, 0}})});
  const auto snapshot = recent_.snapshot();
  EXPECT_EQ(snapshot->scope, Scope::kFleet);
  EXPECT_EQ(snapshot->newest, 501);
  EXPECT_EQ(snapshot->sum.all(), (TrafficCounts{60, 3}));
  EXPECT_EQ(snapshot->sum.second(0).all, (TrafficCounts{30, 0}));
  EXPECT_EQ(snapshot->sum.of(login), (TrafficCounts{25, 3}));
  EXPECT_EQ(snapshot->totals.requests(), 2000u);
  ASSERT_EQ(snapshot->nodes.size(), 2u);
  EXPECT_EQ(snapshot->nodes[0].name, "a");
  EXPECT_EQ(snapshot->nodes[0].window.second(1).all, (TrafficCounts{10, 1}));
  EXPECT_EQ(snapshot->nodes[1].window.of(login), (TrafficCounts{15, 2}));
}

TEST_F(RecentTrafficTest, ASecondThatWasHeardIsNotHeardAgain) {
  hear(500, {node("a", {.all = {10, 0}})});
  hear(500, {node("a", {.all = {10, 0}})});
  hear(499, {node("a", {.all = {10, 0}})});
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{10, 0}));
  recent_.forget_fleet(now_);
  hear(400, {node("a", {.all = {7, 0}})});
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{7, 0}));
}

TEST_F(RecentTrafficTest, ANodeThatHasGoneIsTakenOutOfTheSecondsBefore) {
  hear(500, {node("a", {.all = {5, 0}}), node("b", {.all = {10, 0}, .rules = {{0, {10, 0}}}})});
  for (std::int64_t second = 501; second < 505; ++second) hear(second, {node("a", {})});
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{15, 0}));
  ASSERT_EQ(recent_.snapshot()->nodes.size(), 2u);
  EXPECT_EQ(recent_.snapshot()->nodes[0].silent_seconds, 0);
  EXPECT_EQ(recent_.snapshot()->nodes[1].silent_seconds, 4);
  hear(505, {node("a", {})});
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{5, 0}));
  EXPECT_EQ(recent_.snapshot()->sum.of(0), TrafficCounts{});
  EXPECT_EQ(recent_.snapshot()->nodes.size(), 1u);
  EXPECT_EQ(recent_.snapshot()->totals.requests(), 1000u);
}

TEST_F(RecentTrafficTest, WithoutWordOfTheFleetTheNodeStandsForItself) {
  requests(4);
  hear(500, {node("a", {.all = {10, 0}})});
  advance(2s);
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kFleet);
  EXPECT_EQ(recent_.snapshot()->own.window.all(), (TrafficCounts{4, 0}));
  advance(2s);
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode);
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{4, 0}));
  hear(503, {node("b", {.all = {8, 0}})});
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode);  // this node's counts are not among them
  recent_.forget_fleet(now_);
  hear(504, {node("a", {.all = {13, 0}})});
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kFleet);
  EXPECT_EQ(recent_.snapshot()->sum.all(), (TrafficCounts{13, 0}));
}

TEST_F(RecentTrafficTest, AProcessThatWasStoppedIsNotAlone) {
  hear(500, {node("a", {.all = {10, 0}})});
  now_ += 60s;
  recent_.tick(now_);
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kFleet);
  EXPECT_EQ(recent_.snapshot()->newest, 500);
  hear(560, {node("a", {.all = {10, 0}})});
  EXPECT_EQ(recent_.snapshot()->known_seconds, 1);
  advance(4s);
  EXPECT_EQ(recent_.snapshot()->scope, Scope::kNode) << "nobody answers";
}

TEST_F(RecentTrafficTest, SecondsOfWhichNobodyHasWrittenAreNotKnown) {
  advance(2s);
  EXPECT_EQ(recent_.snapshot()->known_seconds, 2);
  for (std::int64_t second = 500; second < 515; ++second) hear(second, {node("a", {})});
  EXPECT_EQ(recent_.snapshot()->known_seconds, 10);
  hear(515, {});  // Redis was away
  EXPECT_EQ(recent_.snapshot()->known_seconds, 0);
  hear(516, {node("a", {})});
  EXPECT_EQ(recent_.snapshot()->known_seconds, 1);
  hear(518, {node("a", {})});
  EXPECT_EQ(recent_.snapshot()->known_seconds, 1);
}

TEST_F(RecentTrafficTest, MoreNodesThanItHoldsDoNotCount) {
  std::vector<RecentTraffic::NodeSecond> nodes;
  for (std::size_t i = 0; i <= RecentTraffic::kNodesMax; ++i) {
    nodes.push_back(node(i == 0 ? "a" : std::to_string(i), {.all = {1, 0}}));
  }
  hear(500, std::move(nodes));
  EXPECT_EQ(recent_.snapshot()->nodes.size(), RecentTraffic::kNodesMax);
  EXPECT_EQ(recent_.snapshot()->sum.all().requests, RecentTraffic::kNodesMax);
}

TEST_F(RecentTrafficTest, AFleetThatBecomesLargeAndSmallAgainKeepsItsSeconds) {
  hear(500, {node("a", {.all = {1, 0}}), node("b", {.all = {2, 0}})});
  for (std::int64_t second = 501; second < 508; ++second) {
    recent_.hear({.second = second,
                  .nodes = {node("group 0", {.all = {30, 0}}), node("group 1", {.all = {10, 0}})},
                  .has_self = true,
                  .large = LargeFleet{.nodes = 200, .first = "a"}},
                 now_);
  }
  const auto large = recent_.snapshot();
  EXPECT_EQ(large->scope, Scope::kFleet);
  EXPECT_EQ(large->node_count(), 200u);
  EXPECT_EQ(large->nodes.size(), 2u) << "the groups";
  EXPECT_EQ(large->sum.all(), (TrafficCounts{3 + 7 * 40, 0})) << "nobody is taken out";
  for (std::int64_t second = 508; second < 514; ++second) {
    hear(second, {node("a", {.all = {1, 0}})});
  }
  const auto small = recent_.snapshot();
  EXPECT_EQ(small->node_count(), 1u);
  EXPECT_EQ(small->sum.all(), (TrafficCounts{4 * 40 + 6, 0}));
  EXPECT_EQ(small->known_seconds, 10);
}

TEST_F(RecentTrafficTest, IsReadWhileItTicks) {
  std::thread reader([this] {
    std::int64_t last = 0;
    while (last < 100) {
      const auto snapshot = recent_.snapshot();
      EXPECT_GE(snapshot->seconds_running, last);
      EXPECT_LE(snapshot->sum.all().requests, 100u);
      last = snapshot->seconds_running;
    }
  });
  for (int i = 0; i < 110; ++i) {
    requests(10);
    advance(1s);
  }
  reader.join();
}

}  // namespace
}  // namespace weir
