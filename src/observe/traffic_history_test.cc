#include "observe/traffic_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kStart = 1'000'000;
constexpr std::int64_t kHour = 3'600;
constexpr std::int64_t kDay = 24 * kHour;

// A node with a request a second, and the rules that a test gives it.
struct World {
  void second(std::vector<RuleTraffic> rules = {}, std::uint64_t requests = 1) {
    auto ended = std::make_shared<TrafficSecond>();
    ended->all.requests = requests;
    ended->rules = std::move(rules);
    traffic.sum.push(std::move(ended));
    traffic.newest = ++now + lead_s - 1;
    traffic.lead = std::chrono::seconds(lead_s) + jitter;
    traffic.known_seconds = std::min<std::int64_t>(traffic.known_seconds + 1, 10);
    LatencyFigures latency;
    latency.counts[5] = 1;
    history.keep(traffic, latency);
  }
  void seconds(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) second();
  }
  std::uint64_t requests(Duration span) const {
    const auto found = history.last(span).steps;
    return std::accumulate(
        found.begin(), found.end(), std::uint64_t{0},
        [](std::uint64_t sum, const auto* step) { return sum + step->counts.all.requests; });
  }
  Instant end() const { return Instant(std::chrono::seconds(now)); }

  Duration jitter{0};
  std::int64_t lead_s = 0;
  std::int64_t now = kStart;
  TrafficSnapshot traffic{.nodes = {{}}};
  TrafficHistory history{};
};

RuleTraffic denials(std::size_t rule, std::uint64_t denied, std::uint64_t requests = 1'000'000) {
  return {.rule = static_cast<RuleNumber>(rule), .counts = {requests, denied}};
}

TEST(TrafficHistory, HasLongerStepsForOlderTimes) {
  World world;
  world.seconds(kDay + 2 * kHour);
  const struct {
    Duration span;
    Duration step;
    std::size_t steps;
  } cases[] = {{1min, 1s, 60}, {10min, 1s, 600}, {1h, 10s, 360}, {24h, 1min, 1'440}};
  for (const auto& each : cases) {
    const auto found = world.history.last(each.span);
    EXPECT_EQ(found.step, each.step);
    ASSERT_EQ(found.steps.size(), each.steps);
    EXPECT_EQ(found.steps.back()->end, world.end());
    for (const auto* step : found.steps) {
      EXPECT_EQ(step->counts.all.requests, step->seconds);
      EXPECT_EQ(step->latency.total(), step->seconds);
      EXPECT_LE(step->seconds * 1s, each.step);
    }
  }
}

TEST(TrafficHistory, KnowsNothingOfTheTimeBeforeItBegan) {
  World world;
  EXPECT_TRUE(world.history.last(1min).steps.empty());
  world.seconds(95);
  EXPECT_EQ(world.history.last(10min).steps.size(), 95u);
  EXPECT_EQ(world.requests(24h), 95u);
  EXPECT_LE(world.history.last(24h).steps.size(), 3u);
}

// Redis's clock is known to some milliseconds, and somebody may set it.
TEST(TrafficHistory, HasEachSecondOnceWhateverRedissClockDoes) {
  World world{.jitter = 500ms};
  world.seconds(20);
  for (const std::int64_t lead : {kHour, std::int64_t{0}, -kHour, -kHour + 3, std::int64_t{7}}) {
    world.lead_s = lead;
    for (const Duration jitter : {499ms, 500ms, 501ms, 500ms}) {
      world.jitter = jitter;
      world.seconds(5);
    }
  }
  const auto steps = world.history.last(10min).steps;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_NEAR(static_cast<double>((steps[i]->end - steps[i - 1]->end).count()), 1e6, 2e3);
    EXPECT_EQ(steps[i]->seconds, 1u);
  }
  EXPECT_EQ(world.requests(10min), 20u + 5 * 4 * 5);
}

// The nodes' counts of this time come late: this node's own counts are there already.
TEST(TrafficHistory, LeavesOutWhatIsHeardLate) {
  World world;
  world.seconds(30);
  const auto ends = world.history.last(10min).steps.size();
  TrafficSnapshot late;
  late.newest = world.traffic.newest - 3;
  late.known_seconds = 10;
  for (int i = 0; i < 10; ++i) {
    late.sum.push(std::make_shared<const TrafficSecond>(TrafficSecond{.all = {1'000, 0}}));
  }
  world.history.keep(late, {});
  EXPECT_EQ(world.history.last(10min).steps.size(), ends);
  EXPECT_EQ(world.requests(10min), 30u);
}

TEST(TrafficHistory, TellsTheFleetsStepsFromThoseOfANodeAlone) {
  World world;
  const auto second = [&](TrafficSnapshot::Scope scope, std::uint64_t denied) {
    world.traffic.scope = scope;
    world.second({denials(1, denied, 10)});
  };
  for (int i = 0; i < 65; ++i) second(TrafficSnapshot::Scope::kFleet, 3);
  for (int i = 0; i < 20; ++i) second(TrafficSnapshot::Scope::kNode, 1);
  const auto alone = world.history.last(24h);
  ASSERT_FALSE(alone.steps.empty());
  EXPECT_TRUE(alone.steps.back()->is_alone);
  EXPECT_EQ(rules_of(alone).rules, std::vector({denials(1, 20, 200)}));
  EXPECT_EQ(rules_of(alone).apart.at(1), 195u);
  second(TrafficSnapshot::Scope::kFleet, 0);
  const auto both = world.history.last(24h);
  EXPECT_EQ(rules_of(both).rules, std::vector({denials(1, 195, 660)}));
  EXPECT_EQ(rules_of(both).apart.at(1), 20u);
  std::uint64_t denied_alone = 0;
  for (const auto* step : both.steps) denied_alone += step->is_alone * step->counts.of(1).denied;
  EXPECT_EQ(denied_alone, 20u);
}

TEST(TrafficHistory, FillsTheTimeThatWasNotHeardOf) {
  World world;
  world.seconds(10);
  world.now += 4;  // nobody asked in them, but RecentTraffic counted
  for (int i = 0; i < 4; ++i) {
    world.traffic.sum.push(std::make_shared<const TrafficSecond>(TrafficSecond{.all = {5, 0}}));
  }
  world.second();
  EXPECT_EQ(world.requests(10min), 10u + 20 + 1);
}

TEST(TrafficHistory, KeepsTheRulesThatDenyMostAndAddsUpTheOthers) {
  constexpr std::size_t kRules = 1'000;
  World world;
  for (int i = 0; i < 120; ++i) {
    std::vector<RuleTraffic> rules;
    for (std::size_t rule = 0; rule < kRules; ++rule) rules.push_back(denials(rule, rule));
    world.second(std::move(rules));
  }
  for (const Duration span : {Duration(1min), Duration(1h), Duration(24h)}) {
    const auto found = world.history.last(span);
    for (std::size_t i = 0; i + 1 < found.steps.size(); ++i) {
      EXPECT_EQ(found.steps[i]->counts.rules.size(), TrafficHistory::kRulesMax);
      EXPECT_EQ(found.steps[i]->counts.rules.capacity(), TrafficHistory::kRulesMax);
      EXPECT_EQ(found.steps[i]->counts.of(kRules - 1).denied,
                found.steps[i]->seconds * (kRules - 1));
    }
    const DenyingRules rules = rules_of(found);
    ASSERT_EQ(rules.rules.size(), TrafficHistory::kRulesMax);
    EXPECT_EQ(rules.rules.front().rule, kRules - 1);
    EXPECT_EQ(rules.rules.back().rule, kRules - TrafficHistory::kRulesMax);
    std::uint64_t denied = rules.others.denied;
    for (const RuleTraffic& one : rules.rules) denied += one.counts.denied;
    std::size_t seconds = 0;
    for (const auto* step : found.steps) seconds += step->seconds;
    EXPECT_EQ(denied, seconds * kRules * (kRules - 1) / 2);
  }
}

TEST(TrafficHistory, KnowsSinceWhenARuleDenies) {
  World world;
  EXPECT_FALSE(world.history.run(3));
  world.second({denials(3, 1)});
  const Instant first = world.end() - 1s;
  world.seconds(50);
  world.second({denials(3, 1), denials(4, 0)});
  EXPECT_EQ(world.history.run(3)->first, first) << "a pause of less than a minute";
  EXPECT_EQ(world.history.run(3)->last, world.end());
  EXPECT_TRUE(world.history.run(3)->may_be_older) << "nobody knows what was before";
  EXPECT_FALSE(world.history.run(4));
  world.seconds(60);
  world.second({denials(3, 1)});
  EXPECT_EQ(world.history.run(3)->first, world.end() - 1s);
  EXPECT_FALSE(world.history.run(3)->may_be_older);
}

TEST(TrafficHistory, DoesNotKnowWhatOthersDeniedWhileItWasAlone) {
  World world;
  const auto scope = [&](TrafficSnapshot::Scope next) { world.traffic.scope = next; };
  scope(TrafficSnapshot::Scope::kFleet);
  world.seconds(61);
  world.second({denials(3, 1)});
  const Instant first = world.end() - 1s;
  scope(TrafficSnapshot::Scope::kNode);
  world.seconds(20);
  world.second({denials(3, 1), denials(4, 1)});
  EXPECT_FALSE(world.history.run(4)->may_be_older) << "of this node alone";
  scope(TrafficSnapshot::Scope::kFleet);
  world.seconds(20);
  world.second({denials(3, 1), denials(4, 1), denials(5, 1)});
  EXPECT_EQ(world.history.run(3)->first, first);
  EXPECT_FALSE(world.history.run(3)->may_be_older) << "it began before";
  EXPECT_TRUE(world.history.run(4)->may_be_older) << "another may have denied before this node";
  EXPECT_TRUE(world.history.run(5)->may_be_older) << "and by a rule that denied nobody here";
  world.seconds(60);
  world.second({denials(5, 1)});
  EXPECT_FALSE(world.history.run(5)->may_be_older);
}

}  // namespace
}  // namespace weir
