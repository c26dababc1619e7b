// Several nodes in mode leased on one real Redis, in simulated time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "algo/testing/admitted.h"
#include "algo/testing/random_life.h"
#include "redis/leasing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::testing::Admitted;
using algo::testing::is_within_bound;
using algo::testing::kLeasable;
using testing::Asked;
using testing::kGathered;
using testing::LeasedFleet;
using testing::LeasingNode;
using testing::SimulatedRedis;

TEST_F(LeasedFleet, AllOfTheLimitIsAdmittedIfAllNodesWantIt) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Quota quota = *Quota::make({algorithm, 1000, 1min});
    const Charge charge{fresh_key(), &quota, 1};
    start({0s, 10s, -10s});
    int admitted = 0;
    for (int round = 0; round < 2000; ++round) {
      let_pass(2ms);
      for (const auto& node : nodes_) admitted += node->spend(charge) ? 1 : 0;
    }
    EXPECT_EQ(admitted, 1000) << algorithm_name(algorithm);
    int calls = 0;
    for (const auto& node : nodes_) calls += node->link.calls;
    EXPECT_LT(calls, 250) << algorithm_name(algorithm);
    let_pass(2min);
  }
}

TEST_F(LeasedFleet, WhatIsHeldMayBeAdmittedToItsEndAlthoughRedisIsAway) {
  start({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 1000, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  LeasingNode& node = *nodes_[0];
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(node.spend(charge));
  ASSERT_GT(node.held(), 2);
  node.link.cut(node.now());
  let_pass(LeasedKey::kLengthMax - 1us);
  EXPECT_TRUE(node.spend(charge));
  let_pass(1us);
  Asked late({charge});
  node.ask(late);
  EXPECT_TRUE(late.has_failed());
  EXPECT_EQ(node.held(), 0);
}

TEST_F(LeasedFleet, WhatABusyKeyDoesNotNeedGoesBackAndOthersSpendIt) {
  start({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 400, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(nodes_[0]->spend(charge));
  ASSERT_GT(nodes_[0]->held(), 0);
  let_pass(LeasedKey::kLengthMax * 3 / 4);
  EXPECT_EQ(nodes_[0]->held(), 0);
  let_pass(kGathered);
  int admitted = 0;
  for (int i = 0; i < 500; ++i) {
    let_pass(1us);
    admitted += nodes_[1]->spend(charge) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 388);
}

// The return of one lease is planned, and the other comes due before it leaves; or it leaves early
// with an errand of another key.
TEST_F(LeasedFleet, LeasesThatComeDueTogetherGoBackTogether) {
  start({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 400, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  const Charge other{fresh_key(), &quota, 1};
  LeasingNode& node = *nodes_[0];
  node.link.delay = 1ms;
  const auto answered = [&](Asked asked) {
    node.ask(asked);
    while (!asked.is_answered()) let_pass(1ms);
  };
  for (int i = 0; i < 60; ++i) answered(Asked({i % 4 == 0 ? other : charge}));
  for (int i = 0; i < 100; ++i) {
    let_pass(7ms);
    answered(Asked({{fresh_key(), &quota, 0}}, Operation::kLook));
  }
  EXPECT_GT(node.store.counts()[kLeasedReturned], 0);
  let_pass(LeasedKey::kLengthMax);
  EXPECT_EQ(node.store.counts()[kLeasedExpired], 0);
}

TEST_F(LeasedFleet, AKeyThatIsSeldomAskedForTakesFewTrips) {
  for (const Algorithm algorithm : kLeasable) {
    start({0s, 3s});
    const Quota quota = *Quota::make({algorithm, 1000, 1h});
    const Charge charge{fresh_key(), &quota, 1};
    for (int i = 0; i < 120; ++i) {
      EXPECT_TRUE(nodes_[0]->spend(charge));
      let_pass(1s);
    }
    EXPECT_LE(nodes_[0]->link.calls, 12) << algorithm_name(algorithm);
    EXPECT_EQ(nodes_[0]->store.counts()[kLeasedPassedOn], 0);
  }
}

TEST_F(LeasedFleet, WhatAnIdleKeyHoldsGoesBackUnlessItIsATrifle) {
  start({0s, 3s});
  const Quota few = *Quota::make({Algorithm::kTokenBucket, 200, 1h});
  const Quota many = *Quota::make({Algorithm::kTokenBucket, 2000, 1h});
  const Charge scarce{fresh_key(), &few, 1};
  const Charge ample{fresh_key(), &many, 1};
  EXPECT_TRUE(nodes_[0]->spend(scarce));
  EXPECT_TRUE(nodes_[0]->spend(ample));
  EXPECT_EQ(nodes_[0]->held(), 14);
  let_pass(LeasedKey::kLongMax * 3 / 4);
  EXPECT_EQ(nodes_[0]->store.counts()[kLeasedReturned], 7);
  let_pass(kGathered);
  EXPECT_GE(nodes_[1]->decide(Operation::kLook, scarce).remaining, 199);
}

// A bucket fills whatever is held of it: others lack only what is held.
TEST_F(LeasedFleet, ABucketMissesOnlyWhatIsHeldOfIt) {
  start({0s, 0s});
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 1000, 10min});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 60; ++i) {
    EXPECT_TRUE(nodes_[0]->spend(charge));
    let_pass(3s);
  }
  EXPECT_GT(left_in_redis(charge), 1000 - 30);
  EXPECT_LE(left_in_redis(charge), 1000 - nodes_[0]->held());
}

TEST_F(LeasedFleet, ThisNodesCountersKnowWhatItLeased) {
  start({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 200, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  EXPECT_TRUE(nodes_[0]->spend(charge));
  EXPECT_EQ(nodes_[0]->own_remaining(charge), 200 - 8);
  let_pass(LeasedKey::kLongMax * 3 / 4);
  EXPECT_EQ(nodes_[0]->own_remaining(charge), 200 - 1);
  EXPECT_EQ(nodes_[1]->own_remaining(charge), 200);
  const Quota small = *Quota::make({Algorithm::kFixedWindow, 3, 1h});
  const Charge strict{fresh_key(), &small, 1};
  for (int i = 0; i < 5; ++i) nodes_[0]->spend(strict);
  EXPECT_EQ(nodes_[0]->own_remaining(strict), 0);
}

TEST_F(LeasedFleet, WhatComesBackTooLateIsNotTakenFromTheNextWindow) {
  start({0s, 0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 8s});
  const Charge charge{fresh_key(), &quota, 1};
  redis_.now += 8s - (redis_.now - Instant{}) % 8s + 7s;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(nodes_[0]->spend(charge));
  ASSERT_GT(nodes_[0]->held(), 0);
  let_pass(kGathered);  // nothing else is on its way
  nodes_[0]->link.delay = 4s;
  let_pass(800ms);
  EXPECT_EQ(nodes_[0]->held(), 0);  // the rest is on its way
  let_pass(1300ms);                 // another window
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(nodes_[1]->spend(charge));
  let_pass(800ms);  // it arrives
  let_pass(kGathered);
  EXPECT_EQ(left_in_redis(charge), 1000 - 8 - nodes_[1]->held());
  nodes_[0]->link.delay = 0s;
}

TEST_F(LeasedFleet, ADeathLosesTheLeasesUntilTheWindowEnds) {
  start({0s, 0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 400, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(nodes_[0]->spend(charge));
  const std::int64_t lost = nodes_[0]->held();
  ASSERT_GT(lost, 0);
  nodes_[0] = std::make_unique<LeasingNode>(redis_, 0s, 2);
  int admitted = 0;
  for (int i = 0; i < 500; ++i) {
    let_pass(100ms);
    admitted += nodes_[1]->spend(charge) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 388 - lost);
}

TEST_F(LeasedFleet, NobodyWaitsLongerThanTheDeadlineForARedisThatHangs) {
  LeasingNode& node = start({0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 1h});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(node.spend({key, &quota, 1}));
  let_pass(LeasedKey::kLongMax);  // what is held is over
  redis_.is_hanging = true;
  for (int i = 0; i < Breaker::kFailuresMax; ++i) {
    Asked check({{key, &quota, 1}});
    node.ask(check);
    EXPECT_FALSE(check.is_answered());
    let_pass(20ms);
    EXPECT_TRUE(check.has_failed());
  }
  Asked at_once({{key, &quota, 1}});
  node.ask(at_once);
  EXPECT_TRUE(at_once.has_failed());
  redis_.is_hanging = false;
  for (int i = 0; i < 200 && node.sender.is_away(); ++i) let_pass(10ms);
  EXPECT_TRUE(node.spend({key, &quota, 1}));
}

TEST_F(LeasedFleet, ANodeThatLeavesGivesBackAllItHolds) {
  LeasingNode& node = start({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 1h});
  std::vector<Charge> charges;
  for (int i = 0; i < 40; ++i) charges.push_back({fresh_key(), &quota, 1});
  for (const Charge& charge : charges) EXPECT_TRUE(node.spend(charge));
  ASSERT_GT(node.held(), 0);
  node.link.delay = 4ms;
  Asked waits({{fresh_key(), &quota, 1}});
  node.store.decide(waits.batch, node.now());  // for a lease, which is on its way
  const Instant begun = node.now();
  while (!node.store.give_back_all(node.now())) let_pass(1ms);
  EXPECT_LE(node.now() - begun, 4 * node.link.delay);
  EXPECT_EQ(node.held(), 1);  // what it spent at last
  for (const Charge& charge : charges) {
    EXPECT_EQ(left_in_redis(charge), 999);
  }
}

TEST_F(LeasedFleet, ANodeLeavesThoughReturnsComeDueOneByOne) {
  LeasingNode& node = start({0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 1h});
  std::vector<Charge> charges;
  for (int i = 0; i < 60; ++i) {
    charges.push_back({fresh_key(), &quota, 1});
    EXPECT_TRUE(node.spend(charges.back()));
    let_pass(5ms);
  }
  node.link.delay = 10ms;
  let_pass(LeasedKey::kLongMax * 3 / 4 - 200ms);
  const Instant begun = node.now();
  while (!node.store.give_back_all(node.now())) let_pass(1ms);
  EXPECT_LE(node.now() - begun, 5 * node.link.delay);
  for (const Charge& charge : charges) EXPECT_EQ(left_in_redis(charge), 999);
}

TEST_F(LeasedFleet, AllOrNothingIsDecidedByWhatIsHeld) {
  LeasingNode& node = start({0s});
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 100, 1h});
  const Quota empty = *Quota::make({Algorithm::kSlidingWindow, 20, 1h});
  const Charge one{fresh_key(), &quota, 1};
  const Charge other{fresh_key(), &empty, 1};
  for (int i = 0; i < 20; ++i) {
    Asked both({one, other}, Operation::kSpendAll);
    node.ask(both);
    EXPECT_TRUE(both.is_allowed()) << i;
  }
  const auto trips = node.link.calls;
  Asked denied({one, other}, Operation::kSpendAll);
  node.ask(denied);
  EXPECT_TRUE(denied.decisions[0].allowed());
  EXPECT_FALSE(denied.decisions[1].allowed());
  EXPECT_EQ(node.decide(Operation::kLook, one).remaining, 80);
  EXPECT_LE(node.link.calls - trips, 4);
  EXPECT_GT(node.store.counts()[kLeasedFromMemory], 5);
}

// A check that waits holds up all that is pipelined behind it.
TEST_F(LeasedFleet, FewWaitForABusyKeyThatIsOverItsLimit) {
  for (const Algorithm algorithm : {Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    start({0s, 3s});
    const Quota quota = *Quota::make({algorithm, 10'000, 10s});
    const Charge charge{fresh_key(), &quota, 1};
    for (const auto& node : nodes_) node->link.delay = 2ms;
    std::vector<Admitted> spent;
    int waited = 0;
    for (int ms = 0; ms < 30'000; ++ms) {  // twice as much as the limit allows
      let_pass(1ms);
      for (const auto& node : nodes_) {
        Asked check({charge});
        node->ask(check);
        waited += check.is_answered() ? 0 : 1;
        while (!check.is_answered()) let_pass(1ms);
        if (check.is_allowed()) spent.push_back({epoch_us(redis_.now), 1});
      }
    }
    EXPECT_LT(waited, 60'000 / 500) << algorithm_name(algorithm);
    EXPECT_TRUE(is_within_bound(quota, spent)) << algorithm_name(algorithm);
    EXPECT_GE(spent.size(), 30'000 * 95 / 100) << algorithm_name(algorithm);
    for (const auto& node : nodes_) node->link.delay = 0ms;
  }
}

TEST_F(LeasedFleet, WhatIsLeftOfTheShortestLeasesComesBackInTime) {
  for (const Algorithm algorithm : {Algorithm::kTokenBucket, Algorithm::kSlidingLog}) {
    start({0s, 3s});
    const Quota quota = *Quota::make({algorithm, 200, 1s});
    const Charge charge{fresh_key(), &quota, 1};
    ASSERT_LT(lease_length(quota), 80ms);
    for (const auto& node : nodes_) node->link.delay = 2ms;
    for (int i = 0; i < 60; ++i) {
      Asked spent({charge});
      nodes_[0]->ask(spent);
      while (!spent.is_answered()) let_pass(1ms);
      let_pass(1ms);
    }
    ASSERT_GT(nodes_[0]->store.counts()[kLeasedGranted], 60);
    for (int ms = 0; ms < 80; ++ms) let_pass(1ms);
    EXPECT_EQ(
        nodes_[0]->store.counts()[kLeasedGranted] - nodes_[0]->store.counts()[kLeasedReturned], 60);
    Asked look({charge}, Operation::kLook);
    nodes_[1]->strict.decide(look.batch, nodes_[1]->now());
    for (int ms = 0; ms < 3; ++ms) let_pass(1ms);
    EXPECT_GE(look.decisions[0].remaining, 200 - 60 - 2) << algorithm_name(algorithm);
    for (const auto& node : nodes_) node->link.delay = 0ms;
  }
}

TEST_F(LeasedFleet, AFloodedKeyIsAllowedFromTheFirstMomentOfItsNextWindow) {
  start({0s, 3s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1'000, 10s});
  const Charge charge{fresh_key(), &quota, 1};
  redis_.now += 10s - (redis_.now - Instant{}) % 10s;
  const auto admitted_in = [&](Duration time) {
    int admitted = 0;
    for (Duration passed{0}; passed < time; passed += 1ms) {
      let_pass(1ms);
      for (int i = 0; i < 4; ++i) admitted += nodes_[0]->spend(charge) ? 1 : 0;
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
    start({0s});
    const Quota quota = *Quota::make({Algorithm::kTokenBucket, row.window / 1ms, row.window, 1000});
    const Charge charge{fresh_key(), &quota, 1};
    nodes_[0]->link.delay = 1ms;
    const int calls = nodes_[0]->link.calls;
    for (int step = 0; step < 20'000; ++step) {  // twice as much as the limit allows
      let_pass(500us);
      Asked check({charge});
      nodes_[0]->ask(check);
      while (!check.is_answered()) let_pass(500us);
    }
    EXPECT_LE(nodes_[0]->link.calls - calls, row.calls_max);
    nodes_[0]->link.delay = 0ms;
  }
}

TEST_F(LeasedFleet, WhatComesBackOfALeaseThatIsOutNeedsNoTrip) {
  LeasingNode& node = start({0s});
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 200, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(node.spend(charge));
  const auto calls = node.link.calls;
  const Charge back{charge.key, &quota, -3};
  EXPECT_EQ(node.decide(Operation::kSpendEach, back).remaining, 199);
  EXPECT_EQ(node.link.calls, calls);
  Asked too_many({back});  // one is left of it; strict knows
  node.ask(too_many);
  EXPECT_TRUE(too_many.is_allowed());
  EXPECT_GT(node.link.calls, calls);
}

TEST_F(LeasedFleet, AFullTableGivesBackWhatItForgets) {
  LeasingNode node(redis_, 0s, 1);  // with 64 keys
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 100, 1h});
  std::vector<Charge> charges;
  for (int i = 0; i < 200; ++i) charges.push_back({fresh_key(), &quota, 1});
  for (const Charge& charge : charges) {
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(node.spend(charge));
  }
  for (const Duration length : {LeasedKey::kLengthMax, LeasedKey::kLongMax}) {
    redis_.now += length * 3 / 4;
    node.run();
    redis_.now += kGathered;
    node.run();
  }
  EXPECT_EQ(node.held(), 0);
  EXPECT_EQ(node.store.counts()[kLeasedExpired], 0);
  for (const Charge& charge : charges) {
    EXPECT_EQ(node.decide(Operation::kLook, charge).remaining, 100 - 9);
  }
}

// ---- what counts whether or not it fits ------------------------------------------------

// Units that another node holds are its own to spend until its lease ends; and no longer.
TEST_F(LeasedFleet, AChargeBeyondTheLimitStopsAllNodesWhenTheirLeasesEnd) {
  for (const Algorithm algorithm : kLeasable) {
    start({0s, 5s});
    const Quota quota = *Quota::make({algorithm, 1000, 24h});
    const KeyHash key = fresh_key();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(nodes_[0]->spend({key, &quota, 1}));
    let_pass(kGathered);
    EXPECT_GT(nodes_[0]->held(), 0);
    EXPECT_FALSE(nodes_[1]->decide(Operation::kCharge, {key, &quota, 2000}).allowed());
    let_pass(LeasedKey::kLongMax);
    for (const auto& node : nodes_) {
      EXPECT_FALSE(node->decide(Operation::kLook, {key, &quota, 0}).allowed())
          << algorithm_name(algorithm);
      EXPECT_FALSE(node->spend({key, &quota, 1}));
    }
  }
}

TEST_F(LeasedFleet, AChargeForWhichUnitsAreHeldCostsNoTrip) {
  start({0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 24h});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(nodes_[0]->spend({key, &quota, 1}));
  let_pass(kGathered);
  const auto trips = nodes_[0]->link.calls;
  EXPECT_TRUE(nodes_[0]->decide(Operation::kCharge, {key, &quota, 1}).allowed());
  EXPECT_EQ(nodes_[0]->link.calls, trips);
}

// Units that the other node holds are its own; all else is taken.
TEST_F(LeasedFleet, WhatDoesNotFitTakesWhatRedisHasLeft) {
  start({0s, 5s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 24h});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(nodes_[0]->spend({key, &quota, 1}));
  let_pass(kGathered);
  const auto held = nodes_[0]->held();
  EXPECT_GT(held, 0);
  const Decision drain = nodes_[1]->decide(Operation::kDrain, {key, &quota, 999});
  EXPECT_FALSE(drain.allowed());
  EXPECT_EQ(drain.remaining, 0);
  for (const Duration lease : {LeasedKey::kLengthMax, LeasedKey::kLongMax}) {
    for (int i = 0; i < 20; ++i) let_pass(lease / 16);
  }
  EXPECT_EQ(nodes_[0]->held(), 0);
  EXPECT_EQ(nodes_[1]->decide(Operation::kLook, {key, &quota, 0}).remaining, held)
      << "what the other has given back";
}

// ---- switches of adaptive keys ---------------------------------------------------------

TEST_F(LeasedFleet, WhatIsHeldStaysSpendableThroughASwitchUnlessRedisHasToDecide) {
  const Quota old = *Quota::make({Algorithm::kAdaptive, 1000, 1h});
  const Quota next = old.following({Algorithm::kTokenBucket, 1});
  const Quota backoff = old.following({Algorithm::kExponentialBackoff, 2});
  LeasingNode& node = start({0s});
  const KeyHash key = fresh_key();
  EXPECT_TRUE(node.spend({key, &old, 1}));
  ASSERT_GT(node.held(), 2);
  const int calls = node.link.calls;
  EXPECT_TRUE(node.spend({key, &next, 1}));
  EXPECT_EQ(node.link.calls, calls);
  EXPECT_EQ(node.decide(Operation::kSpendEach, {key, &backoff, 1}).remaining, 997);
  EXPECT_EQ(node.held(), 0);
}

// It asks for a lease, gets none, and asks again: nothing fails.
TEST_F(LeasedFleet, ANodeThatMissesTheSwitchToBackoffIsAnswered) {
  LeasingNode& knows = start({0s, 3s});
  LeasingNode& lags = *nodes_[1];
  const Quota old = *Quota::make({Algorithm::kAdaptive, 1000, 1h});
  const Quota next = old.following({Algorithm::kExponentialBackoff, 1});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(knows.spend({key, &next, 1}));
    EXPECT_TRUE(lags.spend({key, &old, 1}));
    redis_.now += 10ms;
  }
  EXPECT_EQ(lags.store.counts()[kLeasedGranted], 0);
  EXPECT_EQ(left_in_redis({key, &next}), 960);
}

}  // namespace
}  // namespace weir
