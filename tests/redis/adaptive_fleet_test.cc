// Adaptive keys of several nodes on one real Redis, in simulated time and in each mode: nodes
// learn of switches one after the other.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "redis/admitted.h"
#include "redis/leasing_node.h"
#include "redis/syncing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::is_within_adaptive_bound;
using testing::kInterval;
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

bool is_long() {
  const char* const wanted = std::getenv("WEIR_TESTS");
  return wanted != nullptr && std::string_view(wanted) == "long";
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

// ---- mode async, by chance -------------------------------------------------------------

// Each step some nodes ask, more or less of them by turns; each learns of a switch when it does.
// A copy lacks what came in the last sync, so a limit is exceeded by that, and as a window's two
// counts both may be, twice the limit by twice as much (docs/internals/redis.md, mode async).
class AsyncLife {
 public:
  static constexpr Duration kStep = 5ms;

  AsyncLife(SimulatedRedis& redis, std::uint64_t seed) : redis_(redis), random_(seed) {
    const std::int64_t size = within(1, 3);
    const Duration trip = kTrips[random_.below(kTrips.size())];
    for (std::int64_t i = 0; i < size; ++i) {
      auto& node = *nodes_.emplace_back(
          std::make_unique<SyncingNode>(redis, 1s * within(-10, 10), 64, KeySpread{}));
      node.link.delay = trip;
      known_.push_back({quota_, quota_, {}});
    }
    const int trips = trip > kInterval / 2 ? 3 : 1;
    unseen_ = kInterval + trips * trip + 4 * kStep;
    late_ = trip + 2 * kStep;
  }

  void live() {
    const Instant end = redis_.now + 4 * quota_.window();
    while (redis_.now < end) {
      redis_.now += kStep;
      if (random_.below(100) == 0) chance_ = kChances[random_.below(kChances.size())];
      if (random_.below(150) == 0) switch_over();
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i]->run();
        if (redis_.now >= known_[i].learns_at) known_[i].now = known_[i].next;
        if (random_.below(100) < chance_) ask(i);
      }
      take_answers();
    }
  }

  // The most that any span of a window's length has admitted, and what it may.
  bool is_within_bound() const {
    std::int64_t most_unseen = 0;
    std::int64_t most = 0;
    for (const Spent& one : spent_) {
      most_unseen = std::max(most_unseen, admitted_before(one.at_us, unseen_));
      most = std::max(most, admitted_before(one.at_us, quota_.window() - late_));
    }
    return most <= 2 * (quota_.limit() + most_unseen) + 1;
  }
  bool has_reached_its_limit() const { return std::ssize(spent_) > quota_.limit(); }

 private:
  static constexpr std::array kTrips{0ms, 10ms, 40ms, 90ms};
  static constexpr std::array kChances{0u, 2u, 8u, 30u};  // in 100: how often a node asks

  struct Known {
    Quota now;
    Quota next;
    Instant learns_at;
  };
  // An answer that may come later.
  struct Pending {
    Pending(KeyHash key, const Quota& of, std::int64_t cost)
        : quota(of), check({{key, &quota, cost}}) {}
    const Quota quota;
    SimulatedCheck check;
  };

  std::int64_t within(std::int64_t from, std::int64_t to) {
    return from + random_.below(static_cast<std::uint32_t>(to - from + 1));
  }

  void switch_over() {
    quota_ = quota_.following({kActive[random_.below(3)], quota_.switch_number() + 1});
    for (Known& known : known_) {
      known.next = quota_;
      known.learns_at = redis_.now + 1ms * within(0, 2'000);
    }
  }

  void ask(std::size_t node) {
    const std::int64_t cost = random_.below(8) == 0 ? within(1, 5) : 1;
    pending_.push_back(std::make_unique<Pending>(key_, known_[node].now, cost));
    nodes_[node]->ask(pending_.back()->check);
  }

  void take_answers() {
    std::erase_if(pending_, [this](const auto& one) {
      if (one->check.is_allowed()) {
        spent_.push_back({epoch_us(redis_.now), one->check.charges.front().cost});
      }
      return one->check.is_answered();
    });
  }

  std::int64_t admitted_before(std::int64_t at_us, Duration span) const {
    return static_cast<std::int64_t>(units_between(spent_, at_us - span.count(), at_us));
  }

  SimulatedRedis& redis_;
  Prng random_;
  const KeyHash key_ = fresh_key();
  Quota quota_ = *Quota::make({Algorithm::kAdaptive, within(20, 100), 1ms * within(2'000, 6'000)});
  std::vector<std::unique_ptr<Pending>> pending_;  // outlive the nodes' stores
  std::vector<std::unique_ptr<SyncingNode>> nodes_;
  std::vector<Known> known_;
  std::uint32_t chance_ = 30;
  Duration unseen_{};  // for so long a node may not know what another one has admitted
  Duration late_{};    // so much later an answer may come than Redis has decided
  std::vector<Spent> spent_;
};

TEST(AdaptiveFleet, NeverAdmitsMoreThanTheBoundOfModeAsync) {
  SimulatedRedis redis;
  const std::uint64_t lives = is_long() ? 500 : 40;
  std::uint64_t busy = 0;
  for (std::uint64_t seed = 1; seed <= lives; ++seed) {
    AsyncLife life(redis, seed);
    life.live();
    ASSERT_TRUE(life.is_within_bound()) << "seed " << seed;
    busy += life.has_reached_its_limit() ? 1 : 0;
  }
  EXPECT_GE(busy, lives / 2);
}

}  // namespace
}  // namespace weir
