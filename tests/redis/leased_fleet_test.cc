// Several nodes in mode leased on one real Redis, in simulated time.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "redis/admitted.h"
#include "redis/leased_fleet.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::is_within_bound;
using testing::kGathered;
using testing::LeasedFleet;
using testing::LeasingNode;
using testing::SimulatedCheck;
using testing::SimulatedRedis;
using testing::Spent;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=100", 0);

// Nodes whose clocks disagree, that spend, look, lose Redis and die as chance has it.
void live_in_a_fleet(SimulatedRedis& redis, KeyHash key, Algorithm algorithm) {
  const auto within = [](std::int64_t from, std::int64_t to) {
    return *rc::gen::inRange<std::int64_t>(from, to + 1);
  };
  const Quota quota =
      *Quota::make({algorithm, within(1, 200), Duration{within(800'000, 20'000'000)}});
  const std::int64_t size = within(1, 3);
  const auto new_node = [&] {
    return std::make_unique<LeasingNode>(redis, 1s * within(-10, 10), size);
  };
  std::vector<std::unique_ptr<LeasingNode>> nodes;
  for (std::int64_t i = 0; i < size; ++i) nodes.push_back(new_node());
  std::vector<Spent> spent;
  for (int step = 0; step < 150; ++step) {
    const bool hurries = within(0, 3) > 0;
    redis.now += Duration{within(0, quota.window().count() / (hurries ? 500 : 12))};
    for (const auto& node : nodes) node->run();
    auto& node = nodes[static_cast<std::size_t>(within(0, size - 1))];
    const auto action = within(0, 30);
    if (action == 0) {
      node = new_node();
    } else if (action == 1) {
      node->link.cut(node->now());
    } else if (action <= 3) {
      node->link.mend();
    } else if (action == 4) {
      SimulatedCheck look({{key, &quota, within(0, 3)}}, Operation::kLook);
      node->ask(look);
      RC_ASSERT(look.is_answered());
    } else {
      const std::int64_t cost = action < 26 ? 1 : within(1, 5);
      if (!node->spend({key, &quota, cost})) continue;
      spent.push_back({epoch_us(redis.now), cost});
      RC_ASSERT(is_within_bound(quota, spent));
    }
  }
}

TEST_F(LeasedFleet, NeverAdmitsMoreThanTheLimit) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    EXPECT_TRUE(rc::check("within the bound", [&] {
      live_in_a_fleet(redis(), fresh_key(), algorithm);
    })) << algorithm_name(algorithm);
  }
}

TEST_F(LeasedFleet, AllOfTheLimitIsSpentIfAllNodesWantIt) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Quota quota = *Quota::make({algorithm, 1000, 1min});
    const Charge charge{fresh_key(), &quota, 1};
    auto fleet = nodes({0s, 10s, -10s});
    int admitted = 0;
    for (int round = 0; round < 2000; ++round) {
      let_pass(fleet, 2ms);
      for (const auto& node : fleet) admitted += node->spend(charge) ? 1 : 0;
    }
    EXPECT_EQ(admitted, 1000) << algorithm_name(algorithm);
    int calls = 0;
    for (const auto& node : fleet) calls += node->link.calls;
    EXPECT_LT(calls, 250) << algorithm_name(algorithm);
    let_pass(fleet, 2min);
  }
}

TEST_F(LeasedFleet, WhatIsHeldMayBeSpentToItsEndAlthoughRedisIsAway) {
  auto fleet = nodes({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 1000, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  LeasingNode& node = *fleet[0];
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(node.spend(charge));
  ASSERT_GT(node.held(), 2);
  node.link.cut(node.now());
  let_pass(fleet, LeasedKey::kLengthMax - 1us);
  EXPECT_TRUE(node.spend(charge));
  let_pass(fleet, 1us);
  SimulatedCheck late({charge});
  node.ask(late);
  EXPECT_TRUE(late.has_failed());
  EXPECT_EQ(node.held(), 0);
}

TEST_F(LeasedFleet, WhatABusyKeyDoesNotNeedGoesBackAndOthersSpendIt) {
  auto fleet = nodes({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 400, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(fleet[0]->spend(charge));
  ASSERT_GT(fleet[0]->held(), 0);
  let_pass(fleet, LeasedKey::kLengthMax * 3 / 4);
  EXPECT_EQ(fleet[0]->held(), 0);
  let_pass(fleet, kGathered);
  int admitted = 0;
  for (int i = 0; i < 500; ++i) {
    let_pass(fleet, 1us);
    admitted += fleet[1]->spend(charge) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 388);
}

TEST_F(LeasedFleet, AKeyThatIsSeldomAskedForTakesFewTrips) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    auto fleet = nodes({0s, 3s});
    const Quota quota = *Quota::make({algorithm, 1000, 1h});
    const Charge charge{fresh_key(), &quota, 1};
    for (int i = 0; i < 120; ++i) {
      EXPECT_TRUE(fleet[0]->spend(charge));
      let_pass(fleet, 1s);
    }
    EXPECT_LE(fleet[0]->link.calls, 12) << algorithm_name(algorithm);
    EXPECT_EQ(fleet[0]->store.counts()[kLeasedPassedOn], 0);
  }
}

TEST_F(LeasedFleet, WhatAnIdleKeyHoldsGoesBackUnlessItIsATrifle) {
  auto fleet = nodes({0s, 3s});
  const Quota few = *Quota::make({Algorithm::kTokenBucket, 200, 1h});
  const Quota many = *Quota::make({Algorithm::kTokenBucket, 2000, 1h});
  const Charge scarce{fresh_key(), &few, 1};
  const Charge ample{fresh_key(), &many, 1};
  EXPECT_TRUE(fleet[0]->spend(scarce));
  EXPECT_TRUE(fleet[0]->spend(ample));
  EXPECT_EQ(fleet[0]->held(), 14);
  let_pass(fleet, LeasedKey::kLongMax * 3 / 4);
  EXPECT_EQ(fleet[0]->store.counts()[kLeasedReturned], 7);
  let_pass(fleet, kGathered);
  SimulatedCheck look({scarce}, Operation::kLook);
  fleet[1]->ask(look);
  EXPECT_GE(look.decisions[0].remaining, 199);
}

// A bucket fills whatever is held of it: others lack only what is held.
TEST_F(LeasedFleet, ABucketMissesOnlyWhatIsHeldOfIt) {
  auto fleet = nodes({0s, 0s});
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 1000, 10min});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 60; ++i) {
    EXPECT_TRUE(fleet[0]->spend(charge));
    let_pass(fleet, 3s);
  }
  SimulatedCheck look({charge}, Operation::kLook);
  fleet[1]->strict.decide(look.batch, fleet[1]->now());
  fleet[1]->run();
  EXPECT_GT(look.decisions[0].remaining, 1000 - 30);
  EXPECT_LE(look.decisions[0].remaining, 1000 - fleet[0]->held());
}

TEST_F(LeasedFleet, ThisNodesCountersKnowWhatItLeased) {
  auto fleet = nodes({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 200, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  EXPECT_TRUE(fleet[0]->spend(charge));
  EXPECT_EQ(fleet[0]->own_remaining(charge), 200 - 8);
  let_pass(fleet, LeasedKey::kLongMax * 3 / 4);
  EXPECT_EQ(fleet[0]->own_remaining(charge), 200 - 1);
  EXPECT_EQ(fleet[1]->own_remaining(charge), 200);
  const Quota small = *Quota::make({Algorithm::kFixedWindow, 3, 1h});
  const Charge strict{fresh_key(), &small, 1};
  for (int i = 0; i < 5; ++i) fleet[0]->spend(strict);
  EXPECT_EQ(fleet[0]->own_remaining(strict), 0);
}

TEST_F(LeasedFleet, WhatComesBackTooLateIsNotTakenFromTheNextWindow) {
  auto fleet = nodes({0s, 0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 8s});
  const Charge charge{fresh_key(), &quota, 1};
  redis().now += 8s - (redis().now - Instant{}) % 8s + 7s;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(fleet[0]->spend(charge));
  ASSERT_GT(fleet[0]->held(), 0);
  let_pass(fleet, kGathered);  // nothing else is on its way
  fleet[0]->link.delay = 4s;
  let_pass(fleet, 800ms);
  EXPECT_EQ(fleet[0]->held(), 0);  // the rest is on its way
  let_pass(fleet, 1300ms);         // another window
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(fleet[1]->spend(charge));
  let_pass(fleet, 800ms);  // it arrives
  let_pass(fleet, kGathered);
  SimulatedCheck look({charge}, Operation::kLook);
  fleet[1]->strict.decide(look.batch, fleet[1]->now());
  fleet[1]->run();
  EXPECT_EQ(look.decisions[0].remaining, 1000 - 8 - fleet[1]->held());
  fleet[0]->link.delay = 0s;
}

TEST_F(LeasedFleet, ADeathLosesTheLeasesUntilTheWindowEnds) {
  auto fleet = nodes({0s, 0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 400, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(fleet[0]->spend(charge));
  const std::int64_t lost = fleet[0]->held();
  ASSERT_GT(lost, 0);
  fleet[0] = std::make_unique<LeasingNode>(redis(), 0s, 2);
  int admitted = 0;
  for (int i = 0; i < 500; ++i) {
    let_pass(fleet, 100ms);
    admitted += fleet[1]->spend(charge) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 388 - lost);
}

TEST_F(LeasedFleet, NobodyWaitsLongerThanTheDeadlineForARedisThatHangs) {
  auto fleet = nodes({0s});
  LeasingNode& node = *fleet[0];
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 1h});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(node.spend({key, &quota, 1}));
  let_pass(fleet, LeasedKey::kLongMax);  // what is held is over
  redis().is_hanging = true;
  for (int i = 0; i < Breaker::kFailuresMax; ++i) {
    SimulatedCheck check({{key, &quota, 1}});
    node.ask(check);
    EXPECT_FALSE(check.is_answered());
    let_pass(fleet, 20ms);
    EXPECT_TRUE(check.has_failed());
  }
  SimulatedCheck at_once({{key, &quota, 1}});
  node.ask(at_once);
  EXPECT_TRUE(at_once.has_failed());
  redis().is_hanging = false;
  for (int i = 0; i < 200 && node.sender.is_away(); ++i) let_pass(fleet, 10ms);
  EXPECT_TRUE(node.spend({key, &quota, 1}));
}

TEST_F(LeasedFleet, ANodeThatLeavesGivesBackAllItHolds) {
  auto fleet = nodes({0s, 3s});
  LeasingNode& node = *fleet[0];
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 1h});
  std::vector<Charge> charges;
  for (int i = 0; i < 40; ++i) charges.push_back({fresh_key(), &quota, 1});
  for (const Charge& charge : charges) EXPECT_TRUE(node.spend(charge));
  ASSERT_GT(node.held(), 0);
  node.link.delay = 4ms;
  SimulatedCheck waits({{fresh_key(), &quota, 1}});
  node.store.decide(waits.batch, node.now());  // for a lease, which is on its way
  const Instant begun = node.now();
  while (!node.store.give_back_all(node.now())) let_pass(fleet, 1ms);
  EXPECT_LE(node.now() - begun, 4 * node.link.delay);
  EXPECT_EQ(node.held(), 1);  // what it spent at last
  for (const Charge& charge : charges) {
    SimulatedCheck look({charge}, Operation::kLook);
    fleet[1]->strict.decide(look.batch, fleet[1]->now());
    fleet[1]->run();
    EXPECT_EQ(look.decisions[0].remaining, 999);
  }
}

TEST_F(LeasedFleet, AllOrNothingIsDecidedByWhatIsHeld) {
  auto fleet = nodes({0s});
  LeasingNode& node = *fleet[0];
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 100, 1h});
  const Quota empty = *Quota::make({Algorithm::kSlidingWindow, 20, 1h});
  const Charge one{fresh_key(), &quota, 1};
  const Charge other{fresh_key(), &empty, 1};
  for (int i = 0; i < 20; ++i) {
    SimulatedCheck both({one, other}, Operation::kSpendAll);
    node.ask(both);
    EXPECT_TRUE(both.is_allowed()) << i;
  }
  const auto trips = node.link.calls;
  SimulatedCheck denied({one, other}, Operation::kSpendAll);
  node.ask(denied);
  EXPECT_TRUE(denied.decisions[0].allowed());
  EXPECT_FALSE(denied.decisions[1].allowed());
  SimulatedCheck look({one}, Operation::kLook);
  node.ask(look);
  EXPECT_EQ(look.decisions[0].remaining, 80);
  EXPECT_LE(node.link.calls - trips, 4);
  EXPECT_GT(node.store.counts()[kLeasedFromMemory], 5);
}

// A check that waits holds up all that is pipelined behind it.
TEST_F(LeasedFleet, FewWaitForABusyKeyThatIsOverItsLimit) {
  for (const Algorithm algorithm : {Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    auto fleet = nodes({0s, 3s});
    const Quota quota = *Quota::make({algorithm, 10'000, 10s});
    const Charge charge{fresh_key(), &quota, 1};
    for (const auto& node : fleet) node->link.delay = 2ms;
    std::vector<Spent> spent;
    int waited = 0;
    for (int ms = 0; ms < 30'000; ++ms) {  // twice as much as the limit allows
      let_pass(fleet, 1ms);
      for (const auto& node : fleet) {
        SimulatedCheck check({charge});
        node->ask(check);
        waited += check.is_answered() ? 0 : 1;
        while (!check.is_answered()) let_pass(fleet, 1ms);
        if (check.is_allowed()) spent.push_back({epoch_us(redis().now), 1});
      }
    }
    EXPECT_LT(waited, 60'000 / 500) << algorithm_name(algorithm);
    EXPECT_TRUE(is_within_bound(quota, spent)) << algorithm_name(algorithm);
    EXPECT_GE(spent.size(), 30'000 * 95 / 100) << algorithm_name(algorithm);
    for (const auto& node : fleet) node->link.delay = 0ms;
  }
}

TEST_F(LeasedFleet, WhatIsLeftOfTheShortestLeasesComesBackInTime) {
  for (const Algorithm algorithm : {Algorithm::kTokenBucket, Algorithm::kSlidingLog}) {
    auto fleet = nodes({0s, 3s});
    const Quota quota = *Quota::make({algorithm, 200, 1s});
    const Charge charge{fresh_key(), &quota, 1};
    ASSERT_LT(lease_length(quota), 80ms);
    for (const auto& node : fleet) node->link.delay = 2ms;
    for (int i = 0; i < 60; ++i) {
      SimulatedCheck spent({charge});
      fleet[0]->ask(spent);
      while (!spent.is_answered()) let_pass(fleet, 1ms);
      let_pass(fleet, 1ms);
    }
    ASSERT_GT(fleet[0]->store.counts()[kLeasedGranted], 60);
    for (int ms = 0; ms < 80; ++ms) let_pass(fleet, 1ms);
    EXPECT_EQ(fleet[0]->store.counts()[kLeasedGranted] - fleet[0]->store.counts()[kLeasedReturned],
              60);
    SimulatedCheck look({charge}, Operation::kLook);
    fleet[1]->strict.decide(look.batch, fleet[1]->now());
    for (int ms = 0; ms < 3; ++ms) let_pass(fleet, 1ms);
    EXPECT_GE(look.decisions[0].remaining, 200 - 60 - 2) << algorithm_name(algorithm);
    for (const auto& node : fleet) node->link.delay = 0ms;
  }
}

TEST_F(LeasedFleet, AFloodedKeyIsAllowedFromTheFirstMomentOfItsNextWindow) {
  auto fleet = nodes({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1'000, 10s});
  const Charge charge{fresh_key(), &quota, 1};
  redis().now += 10s - (redis().now - Instant{}) % 10s;
  const auto admitted_in = [&](Duration time) {
    int admitted = 0;
    for (Duration passed{0}; passed < time; passed += 1ms) {
      let_pass(fleet, 1ms);
      for (int i = 0; i < 4; ++i) admitted += fleet[0]->spend(charge) ? 1 : 0;
    }
    return admitted;
  };
  EXPECT_EQ(admitted_in(10s - 1ms), 1'000);
  EXPECT_GE(admitted_in(100ms), 300);
}

// A denial is worth 1/64 of a window, of which three quarters pass without a question.
TEST_F(LeasedFleet, AFloodedKeyTakesFewTrips) {
  struct Row {
    Duration window;
    int calls_max;  // in 10 seconds
  };
  for (const Row& row : {Row{1s, 10'000 * 64 * 4 / 3 / 1'000 + 50}, Row{10s, 300}}) {
    auto fleet = nodes({0s});
    const Quota quota = *Quota::make({Algorithm::kTokenBucket, row.window / 1ms, row.window, 1000});
    const Charge charge{fresh_key(), &quota, 1};
    fleet[0]->link.delay = 1ms;
    const int calls = fleet[0]->link.calls;
    for (int step = 0; step < 20'000; ++step) {  // twice as much as the limit allows
      let_pass(fleet, 500us);
      SimulatedCheck check({charge});
      fleet[0]->ask(check);
      while (!check.is_answered()) let_pass(fleet, 500us);
    }
    EXPECT_LE(fleet[0]->link.calls - calls, row.calls_max);
    fleet[0]->link.delay = 0ms;
  }
}

TEST_F(LeasedFleet, WhatComesBackOfALeaseThatIsOutNeedsNoTrip) {
  auto fleet = nodes({0s});
  LeasingNode& node = *fleet[0];
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 200, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(node.spend(charge));
  const auto calls = node.link.calls;
  const Charge back{charge.key, &quota, -3};
  SimulatedCheck three({back});
  node.ask(three);
  EXPECT_EQ(three.decisions[0].remaining, 199);
  EXPECT_EQ(node.link.calls, calls);
  SimulatedCheck too_many({back});  // one is left of it; strict knows
  node.ask(too_many);
  EXPECT_TRUE(too_many.is_allowed());
  EXPECT_GT(node.link.calls, calls);
}

TEST_F(LeasedFleet, AFullTableGivesBackWhatItForgets) {
  LeasingNode node(redis(), 0s, 1);  // with 64 keys
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, 1h});
  std::vector<Charge> charges;
  for (int i = 0; i < 200; ++i) charges.push_back({fresh_key(), &quota, 1});
  for (const Charge& charge : charges) {
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(node.spend(charge));
  }
  for (const Duration length : {LeasedKey::kLengthMax, LeasedKey::kLongMax}) {
    redis().now += length * 3 / 4;
    node.run();
    redis().now += kGathered;
    node.run();
  }
  EXPECT_EQ(node.held(), 0);
  EXPECT_EQ(node.store.counts()[kLeasedExpired], 0);
  for (const Charge& charge : charges) {
    SimulatedCheck look({charge}, Operation::kLook);
    node.ask(look);
    EXPECT_EQ(look.decisions[0].remaining, 100 - 9);
  }
}

}  // namespace
}  // namespace weir
