// Charges on nodes in mode leased of which one comes and goes, or is far from Redis for a while.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <vector>

#include "algo/testing/random_life.h"
#include "redis/leasing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::testing::within;
using testing::Asked;
using testing::LeasingNode;
using testing::SimulatedRedis;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=200", 0);

// Two nodes on trips that take time, of which one connects, and loses its connection, as both
// charge. Single hits over the limit are not charged: a node may remember that.
void charge_while_one_connects(SimulatedRedis& redis, KeyHash key) {
  redis.now = instant_from_epoch_us(1'700'000'040'000'000);  // far from the end of a day
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, within(5, 200), 24h});
  LeasingNode stays(redis, 0s, 2);
  LeasingNode connects(redis, 1s * within(-10, 10), 2);
  stays.link.delay = connects.link.delay = Duration{within(0, 15'000)};
  const auto pass = [&](Duration time) {
    redis.now += time;
    stays.run();
    connects.run();
  };
  // A charge gives back units first, so one node mostly spends and the other mostly charges.
  const std::int64_t part = within(0, 10);
  connects.link.cut(connects.now());
  bool has_lost = false;
  std::deque<Asked> checks;
  for (int step = 0; step < 100; ++step) {
    pass(Duration{within(0, 30'000)});
    const auto action = within(0, 12);
    if (action == 0) {
      connects.link.cut(connects.now());
      has_lost = true;
    } else if (action <= 2) {
      connects.link.restore();
    } else if (action <= 7) {
      LeasingNode& node = within(0, 10) < part ? connects : stays;
      auto& spend = checks.emplace_back(std::vector<Charge>{{key, &quota, 1}});
      node.store.decide(spend.batch, node.now());
    } else {
      LeasingNode& node = within(0, 10) < part ? stays : connects;
      auto& charge =
          checks.emplace_back(std::vector<Charge>{{key, &quota, within(2, 9)}}, Operation::kCharge);
      node.store.decide(charge.batch, node.now());
    }
  }
  connects.link.restore();
  for (int i = 0; i < 20; ++i) pass(LeasedKey::kLengthMax / 16);  // short leases go back,
  for (int i = 0; i < 20; ++i) pass(LeasedKey::kLongMax / 16);    // and long ones

  std::int64_t owed = 0;
  std::int64_t unknown = 0;  // what ran out of time may have been charged
  for (const Asked& check : checks) {
    RC_ASSERT(check.is_answered());
    const std::int64_t cost = check.charges[0].cost;
    const bool counts = check.batch.operation == Operation::kCharge || check.is_allowed();
    if (check.has_failed()) {
      unknown += cost;
    } else if (counts) {
      owed += cost;
    }
  }
  LeasingNode observer(redis, 0s, 2);
  const std::int64_t left = observer.decide(Operation::kLook, {key, &quota, 0}).remaining;
  const auto left_of = [&](std::int64_t spent) {
    return std::max<std::int64_t>(0, quota.limit() - spent);
  };
  RC_ASSERT(left <= left_of(owed));
  RC_ASSERT(has_lost || left >= left_of(owed + unknown));
  RC_ASSERT(owed < quota.limit() || !observer.spend({key, &quota, 1}));
}

// Two nodes, of which one is far from Redis now and then: its trips take longer than a check waits.
void spend_while_one_is_far(SimulatedRedis& redis, KeyHash key) {
  const auto within = [](std::int64_t from, std::int64_t to) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(from, to + 1));
  };
  constexpr std::array kAlgorithms = {Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                      Algorithm::kTokenBucket};
  redis.now = instant_from_epoch_us(1'700'000'040'000'000);  // far from the end of a year
  const auto algorithm = kAlgorithms[static_cast<std::size_t>(within(0, 2))];
  const Quota quota = *Quota::make({algorithm, within(100, 1'000), 24h * 366});
  LeasingNode far(redis, 0s, 2);
  LeasingNode near(redis, 0s, 2);
  std::deque<Asked> checks;
  const auto ask = [&](Store& store, Instant now, std::int64_t cost) {
    auto& check = checks.emplace_back(std::vector<Charge>{{key, &quota, cost}});
    store.decide(check.batch, now);
  };
  // In the same calls.
  const Quota plenty = *Quota::make({algorithm, 1'000'000'000, 24h * 366});
  std::deque<Asked> others;
  for (int step = 0; step < 300; ++step) {
    far.link.delay = within(0, 9) == 0 ? Duration{within(0, 250'000)} : far.link.delay / 2;
    redis.now += Duration{within(1'000, 20'000)};
    for (LeasingNode* const node : {&far, &near}) {
      node->run();
      for (std::int64_t i = within(0, 4); i > 0; --i) {
        ask(node->store, node->now(), 1);
        auto& other = others.emplace_back(std::vector<Charge>{{{key.high, ~key.low}, &plenty, 1}});
        node->store.decide(other.batch, node->now());
      }
      if (within(0, 9) == 0) ask(node->strict, node->now(), 1);
      // That is denied, after what is held has gone back.
      if (within(0, 9) == 0) ask(node->store, node->now(), quota.limit() + 1);
      node->run();
    }
  }
  far.link.delay = 0ms;
  redis.now += 1s;
  far.run();
  near.run();
  RC_ASSERT(std::ranges::count_if(checks, &Asked::is_allowed) <= quota.limit());
  RC_ASSERT(std::ranges::all_of(
      others, [](const Asked& other) { return other.is_allowed() || other.has_failed(); }));
}

// The units that another node held took the key over its limit, and went back.
TEST(LeasedCharges, AreOwedThoughTheKeyIsOverItsLimitAlready) {
  SimulatedRedis redis;
  LeasingNode holds(redis, 0s, 2);
  LeasingNode charges(redis, 0s, 2);
  const KeyHash key{1, 2};
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 24h});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(holds.spend({key, &quota, 1}));
  redis.now += 20ms;
  holds.run();
  const std::int64_t held = holds.held();
  ASSERT_GT(held, 0);
  std::int64_t owed = 20;
  const auto charge = [&](std::int64_t cost) {
    EXPECT_FALSE(charges.decide(Operation::kCharge, {key, &quota, cost}).allowed());
    owed += cost;
  };
  charge(1000 - 20 - held + 1);
  while (owed <= 1000) charge(2);
  for (int i = 0; i < 20; ++i) {
    redis.now += LeasedKey::kLengthMax / 16;
    holds.run();
  }
  EXPECT_EQ(holds.held(), 0);
  EXPECT_FALSE(holds.spend({key, &quota, 1}));
  EXPECT_FALSE(charges.spend({key, &quota, 1}));
}

TEST(LeasedCharges, DebtsOfBothNodesStayWhileOneConnects) {
  SimulatedRedis redis;
  std::uint64_t made = 0;
  EXPECT_TRUE(rc::check("what was charged is owed", [&] {
    ++made;
    charge_while_one_connects(redis, {made, made * 0x9e3779b97f4a7c15});
  }));
}

TEST(LeasedCharges, NeverExceedTheLimitWhileRedisIsFarFromOneNode) {
  SimulatedRedis redis;
  std::uint64_t made = 0;
  EXPECT_TRUE(rc::check("no unit is spent twice", [&] {
    ++made;
    spend_while_one_is_far(redis, {made, made * 0x9e3779b97f4a7c15});
  }));
}

}  // namespace
}  // namespace weir
