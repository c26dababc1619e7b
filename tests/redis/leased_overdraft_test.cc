// Mode leased on a real Redis: charges that count whether or not they fit, and those that take
// what is left.

#include <gtest/gtest.h>

#include "redis/leased_fleet.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::kGathered;
using testing::LeasedFleet;
using testing::SimulatedCheck;

// Units that another node holds are its own to spend until its lease ends; and no longer.
TEST_F(LeasedFleet, AChargeBeyondTheLimitStopsAllNodesWhenTheirLeasesEnd) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    const auto both = nodes({0s, 5s});
    const Quota quota = *Quota::make({algorithm, 1000, 24h});
    const KeyHash key = fresh_key();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(both[0]->spend({key, &quota, 1}));
    let_pass(both, kGathered);
    EXPECT_GT(both[0]->held(), 0);
    SimulatedCheck charge({{key, &quota, 2000}}, Operation::kCharge);
    both[1]->ask(charge);
    EXPECT_FALSE(charge.is_allowed());
    let_pass(both, LeasedKey::kLongMax);
    for (const auto& node : both) {
      SimulatedCheck look({{key, &quota, 0}}, Operation::kLook);
      node->ask(look);
      EXPECT_FALSE(look.is_allowed()) << algorithm_name(algorithm);
      EXPECT_FALSE(node->spend({key, &quota, 1}));
    }
  }
}

TEST_F(LeasedFleet, AChargeForWhichUnitsAreHeldCostsNoTrip) {
  const auto alone = nodes({0s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 24h});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(alone[0]->spend({key, &quota, 1}));
  let_pass(alone, kGathered);
  const auto trips = alone[0]->link.calls;
  SimulatedCheck charge({{key, &quota, 1}}, Operation::kCharge);
  alone[0]->ask(charge);
  EXPECT_TRUE(charge.is_allowed());
  EXPECT_EQ(alone[0]->link.calls, trips);
}

// Units that the other node holds are its own; all else is taken.
TEST_F(LeasedFleet, WhatDoesNotFitTakesWhatRedisHasLeft) {
  const auto both = nodes({0s, 5s});
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1000, 24h});
  const KeyHash key = fresh_key();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(both[0]->spend({key, &quota, 1}));
  let_pass(both, kGathered);
  const auto held = both[0]->held();
  EXPECT_GT(held, 0);
  SimulatedCheck drain({{key, &quota, 999}}, Operation::kDrain);
  both[1]->ask(drain);
  EXPECT_FALSE(drain.is_allowed());
  EXPECT_EQ(drain.decisions[0].remaining, 0);
  for (const Duration lease : {LeasedKey::kLengthMax, LeasedKey::kLongMax}) {
    for (int i = 0; i < 20; ++i) let_pass(both, lease / 16);
  }
  EXPECT_EQ(both[0]->held(), 0);
  SimulatedCheck look({{key, &quota, 0}}, Operation::kLook);
  both[1]->ask(look);
  EXPECT_EQ(look.decisions[0].remaining, held) << "what the other has given back";
}

}  // namespace
}  // namespace weir
