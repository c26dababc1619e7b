#include "observe/traffic_window.h"

#include <gtest/gtest.h>

#include <utility>

namespace weir {
namespace {

std::shared_ptr<const TrafficSecond> second(TrafficCounts all, std::vector<RuleTraffic> rules) {
  return std::make_shared<TrafficSecond>(TrafficSecond{.all = all, .rules = std::move(rules)});
}

TEST(TrafficSecond, AddsUpRuleByRule) {
  TrafficSecond sum;
  sum.add({.all = {5, 1}, .rules = {{1, {2, 0}}, {7, {3, 1}}}});
  sum.add({.all = {4, 4}, .rules = {{0, {1, 1}}, {7, {2, 2}}, {9, {1, 1}}}});
  sum.add({.all = {1, 0}});
  EXPECT_EQ(sum.all, (TrafficCounts{10, 5}));
  const std::vector<RuleTraffic> rules = {{0, {1, 1}}, {1, {2, 0}}, {7, {5, 3}}, {9, {1, 1}}};
  EXPECT_EQ(sum.rules, rules);
  EXPECT_EQ(sum.of(7), (TrafficCounts{5, 3}));
  EXPECT_EQ(sum.of(8), TrafficCounts{});
  EXPECT_EQ(sum.of(kNoRuleNumber), TrafficCounts{});
}

TEST(TrafficWindow, KeepsTenSeconds) {
  TrafficWindow window;
  EXPECT_EQ(window.all(), TrafficCounts{});
  window.push(second({100, 50}, {{3, {100, 50}}}));
  for (std::uint64_t i = 1; i < TrafficWindow::kSeconds; ++i) {
    window.push(second({i, 0}, {{3, {i, 0}}}));
  }
  EXPECT_EQ(window.second(0).all.requests, 9u);
  EXPECT_EQ(window.second(9).all.requests, 100u);
  EXPECT_EQ(window.all(), (TrafficCounts{145, 50}));
  EXPECT_EQ(window.all(2), (TrafficCounts{17, 0}));
  EXPECT_EQ(window.of(3, 3), (TrafficCounts{24, 0}));
  window.push(nullptr);
  EXPECT_EQ(window.all(), (TrafficCounts{45, 0}));
  window.push_idle(8);
  EXPECT_EQ(window.of(3), (TrafficCounts{9, 0}));
  window.push_idle(1'000'000'000);
  EXPECT_EQ(window.all(), TrafficCounts{});
}

TEST(TrafficWindow, IdleSecondsCountInTheRatesAndUnknownOnesDoNot) {
  TrafficWindow window;
  EXPECT_EQ(rates_of(window, 10).burst_ratio, 0.0);
  EXPECT_EQ(rates_of(window, 0).burst_ratio, 0.0);
  window.push(second({60, 15}, {{3, {30, 0}}}));
  EXPECT_EQ(rates_of(window, 10).requests_per_second, 6.0);
  EXPECT_EQ(rates_of(window, 10).denied_share, 0.25);
  EXPECT_EQ(rates_of(window, 10).burst_ratio, 5.0);
  EXPECT_EQ(rates_of(window, 10, 3).requests_per_second, 3.0);
  EXPECT_EQ(rates_of(window, 1).requests_per_second, 60.0);
  EXPECT_EQ(rates_of(window, 1).burst_ratio, 1.0);
  EXPECT_EQ(rates_of(window, 1, 3).burst_ratio, 1.0);
  window.push(second({20, 0}, {}));
  window.push(second({40, 0}, {}));
  EXPECT_EQ(rates_of(window, 3).burst_ratio, 0.75);
  for (int i = 0; i < 10; ++i) window.push(second({60, 15}, {}));
  EXPECT_EQ(rates_of(window, 10).burst_ratio, 1.0);
}

TEST(TrafficWindow, TheBusiestRulesAreThoseOfAllItsSeconds) {
  TrafficWindow window;
  window.push(second({}, {{1, {10, 0}}, {2, {1, 0}}, {5, {9, 0}}}));
  window.push(second({}, {{2, {12, 0}}, {4, {8, 0}}}));
  EXPECT_EQ(busiest_rules(window, 2), (std::vector<RuleNumber>{1, 2}));
  EXPECT_EQ(busiest_rules(window, 4), (std::vector<RuleNumber>{1, 2, 4, 5}));
  EXPECT_EQ(busiest_rules(window, 100).size(), 4u);
  EXPECT_TRUE(busiest_rules({}, 2).empty());
}

TEST(TrafficTotals, NameTheAlgorithmThatHasDecidedMost) {
  TrafficTotals totals;
  EXPECT_EQ(totals.most_used(), Algorithm::kSlidingWindow);
  TrafficTotals other;
  other.decisions[static_cast<std::size_t>(Algorithm::kTokenBucket)] = 3;
  other.denied = 1;
  totals += other;
  totals += other;
  EXPECT_EQ(totals.most_used(), Algorithm::kTokenBucket);
  EXPECT_EQ(totals.requests(), 6u);
  EXPECT_EQ(totals.denied, 2u);
}

}  // namespace
}  // namespace weir
