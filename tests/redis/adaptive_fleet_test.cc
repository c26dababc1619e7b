// Adaptive keys of several nodes on one real Redis, in simulated time and in each mode: nodes
// learn of switches one after the other.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "redis/admitted.h"
#include "redis/leasing_node.h"
#include "redis/syncing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::is_within_adaptive_bound;
using testing::LeasingNode;
using testing::SimulatedCheck;
using testing::SimulatedNode;
using testing::SimulatedRedis;
using testing::Spent;
using testing::SyncingFleet;
using testing::SyncingNode;
using testing::units_between;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=100", 0);

constexpr std::array kActive{Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                             Algorithm::kExponentialBackoff};

std::int64_t within(std::int64_t from, std::int64_t to) {
  return *rc::gen::inRange<std::int64_t>(from, to + 1);
}

KeyHash fresh_key() {
  static std::uint64_t made = 0;
  return {++made, made * 0x9e3779b97f4a7c15};
}

struct StrictNode : SimulatedNode {
  StrictNode(SimulatedRedis& of, Duration clock_skew, std::int64_t)
      : SimulatedNode(of, clock_skew) {}

  bool spend(const Charge& charge) {
    SimulatedCheck check({charge});
    strict.decide(check.batch, now());
    run();
    EXPECT_TRUE(check.is_answered());
    return check.is_allowed();
  }
};

// Nodes whose clocks disagree, that spend, lose Redis, die, and learn of switches as chance has it.
template <typename Node>
void live_in_a_fleet(SimulatedRedis& redis) {
  const KeyHash key = fresh_key();
  Quota switched =
      *Quota::make({Algorithm::kAdaptive, within(1, 200), Duration{within(800'000, 20'000'000)}});
  const std::int64_t size = within(1, 3);
  const auto new_node = [&] { return std::make_unique<Node>(redis, 1s * within(-10, 10), size); };
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::int64_t i = 0; i < size; ++i) nodes.push_back(new_node());
  std::vector<Quota> known(nodes.size(), switched);
  std::vector<Spent> spent;
  for (int step = 0; step < 150; ++step) {
    const bool hurries = within(0, 3) > 0;
    redis.now += Duration{within(0, switched.window().count() / (hurries ? 500 : 12))};
    for (const auto& node : nodes) node->run();
    if (within(0, 15) == 0) {
      switched = switched.following({.algorithm = kActive[static_cast<std::size_t>(within(0, 2))],
                                     .number = switched.switch_number() + 1});
    }
    const auto place = static_cast<std::size_t>(within(0, size - 1));
    if (within(0, 3) == 0) known[place] = switched;
    auto& node = nodes[place];
    const auto action = within(0, 30);
    if (action == 0) {
      node = new_node();
    } else if (action == 1) {
      node->link.cut(node->now());
    } else if (action <= 3) {
      node->link.mend();
    } else {
      const std::int64_t cost = action < 26 ? 1 : within(1, 5);
      if (!node->spend({key, &known[place], cost})) continue;
      spent.push_back({epoch_us(redis.now), cost});
      RC_ASSERT(is_within_adaptive_bound(switched, spent));
    }
  }
}

TEST(AdaptiveFleet, NeverAdmitsMoreThanTheBoundInModeStrict) {
  SimulatedRedis redis;
  EXPECT_TRUE(rc::check("within the bound", [&] { live_in_a_fleet<StrictNode>(redis); }));
}

TEST(AdaptiveFleet, NeverAdmitsMoreThanTheBoundInModeLeased) {
  SimulatedRedis redis;
  EXPECT_TRUE(rc::check("within the bound", [&] { live_in_a_fleet<LeasingNode>(redis); }));
}

// ---- leases ----------------------------------------------------------------------------

TEST(AdaptiveFleet, WhatIsHeldStaysSpendableThroughASwitch) {
  SimulatedRedis redis;
  LeasingNode node(redis, 0s, 1);
  const Quota old = *Quota::make({Algorithm::kAdaptive, 1000, 1h});
  const Quota next = old.following({Algorithm::kTokenBucket, 1});
  const KeyHash key = fresh_key();
  EXPECT_TRUE(node.spend({key, &old, 1}));
  ASSERT_GT(node.held(), 2);
  const int calls = node.link.calls;
  EXPECT_TRUE(node.spend({key, &next, 1}));
  EXPECT_EQ(node.link.calls, calls);
}

TEST(AdaptiveFleet, InBackoffTheUnitsThatAreHeldGoBackAndRedisDecides) {
  SimulatedRedis redis;
  LeasingNode node(redis, 0s, 1);
  const Quota old = *Quota::make({Algorithm::kAdaptive, 1000, 1h});
  const Quota next = old.following({Algorithm::kExponentialBackoff, 1});
  const KeyHash key = fresh_key();
  EXPECT_TRUE(node.spend({key, &old, 1}));
  ASSERT_GT(node.held(), 2);
  SimulatedCheck check({{key, &next, 1}});
  node.ask(check);
  EXPECT_TRUE(check.is_allowed());
  EXPECT_EQ(check.decisions[0].remaining, 998);
  EXPECT_EQ(node.held(), 0);
}

// It asks for a lease, gets none, and asks again: nothing fails.
TEST(AdaptiveFleet, ANodeThatMissesTheSwitchToBackoffIsAnswered) {
  SimulatedRedis redis;
  LeasingNode knows(redis, 0s, 2);
  LeasingNode lags(redis, 3s, 2);
  const Quota old = *Quota::make({Algorithm::kAdaptive, 1000, 1h});
  const Quota next = old.following({Algorithm::kExponentialBackoff, 1});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(knows.spend({key, &next, 1}));
    EXPECT_TRUE(lags.spend({key, &old, 1}));
    redis.now += 10ms;
  }
  EXPECT_EQ(lags.store.counts()[kLeasedGranted], 0);
  SimulatedCheck look({{key, &next, 1}}, Operation::kLook);
  knows.ask(look);
  EXPECT_EQ(look.decisions[0].remaining, 960);
}

// ---- copies ----------------------------------------------------------------------------

struct AdaptiveCopies : SyncingFleet {
  Decision ask(SyncingNode& node, const Charge& charge) {
    SimulatedCheck check({charge});
    node.ask(check);
    EXPECT_TRUE(check.is_answered());
    EXPECT_FALSE(check.has_failed());
    return check.decisions[0];
  }

  const Quota sliding_ = *Quota::make({Algorithm::kAdaptive, 100, 10s});
  const Quota bucket_ = sliding_.following({Algorithm::kTokenBucket, 1});
  const Quota backoff_ = sliding_.following({Algorithm::kExponentialBackoff, 2});
  const KeyHash key_ = fresh_key();
};

TEST_F(AdaptiveCopies, ASyncWithALaterSwitchReplacesTheCopyOfWhoLags) {
  SyncingNode& lags = add_node(0s);
  SyncingNode& knows = add_node(3s);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(ask(lags, {key_, &sliding_, 1}).allowed());
    EXPECT_TRUE(ask(knows, {key_, &bucket_, 1}).allowed());
  }
  let_pass(300ms);
  ask(knows, {key_, &bucket_, 3});
  ask(lags, {key_, &sliding_, 1});
  let_pass(100ms);
  const Decision denied = ask(lags, {key_, &sliding_, 50});
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_LT(denied.retry_after, 6s);  // a sliding window's is over ten
}

TEST_F(AdaptiveCopies, InBackoffRedisDecidesAlsoForWhoLags) {
  SyncingNode& lags = add_node(0s);
  SyncingNode& knows = add_node(3s);
  ask(lags, {key_, &sliding_, 1});
  let_pass(100ms);
  for (int i = 0; i < 12; ++i) ask(knows, {key_, &backoff_, 100});  // one level up
  ask(lags, {key_, &sliding_, 1});
  let_pass(100ms);
  const auto passed_on = lags.store.counts()[kAsyncPassedOn];
  EXPECT_EQ(ask(lags, {key_, &sliding_, 60}).backoff_level, 1);
  EXPECT_EQ(lags.store.counts()[kAsyncPassedOn], passed_on + 1);
}

// What arrives in an interval and a trip comes on top, from each of three nodes.
TEST_F(AdaptiveCopies, SwitchesExceedTheBoundByWhatComesInAnInterval) {
  for (const Duration skew : {0s, 5s, -5s}) add_node(skew);
  std::vector<Spent> spent;
  std::vector<Quota> known(3, sliding_);
  std::vector<Quota> switches{sliding_};
  constexpr std::int64_t kSteps = 3000;  // of 10 ms
  for (std::int64_t step = 0; step < kSteps; ++step) {
    let_pass(10ms);
    if (step % 170 == 169) {
      const auto number = static_cast<std::uint32_t>(switches.size());
      switches.push_back(sliding_.following({kActive[number * 7 / 3 % 3], number}));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (step % 170 == static_cast<std::int64_t>(50 * i)) known[i] = switches.back();
      SimulatedCheck check({{key_, &known[i], 1}});
      nodes_[i]->ask(check);
      if (check.is_allowed()) spent.push_back({epoch_us(redis_.now), 1});
    }
  }
  constexpr std::int64_t kInAnInterval = 3 * 12;
  for (const Spent& one : spent) {
    const std::int64_t window_us = sliding_.window().count();
    EXPECT_LE(units_between(spent, one.at_us - window_us, one.at_us),
              2 * sliding_.limit() + kInAnInterval);
  }
  EXPECT_GT(std::ssize(spent), 2 * sliding_.limit());
}

}  // namespace
}  // namespace weir
