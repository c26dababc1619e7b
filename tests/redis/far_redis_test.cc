// Several nodes in mode async on one real Redis far away, for which no check waits, in simulated
// time. SyncingNode::spend() fails where an answer comes after a trip.

#include <gtest/gtest.h>

#include <algorithm>

#include "redis/syncing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::SyncingNode;
using Reach = AsyncStoreOptions::Reach;

constexpr Duration kFarInterval = 1s;

class FarRedis : public testing::SyncingFleet {
 protected:
  SyncingNode& add_far(Duration trip, Duration skew = 0s) {
    SyncingNode& node =
        add_node(skew, std::size_t{64}, KeySpread{}, nullptr, kFarInterval, Reach::kFar);
    node.link.delay = trip;
    return node;
  }
  static Decision look(SyncingNode& node, const Charge& charge) {
    return node.decide(Operation::kLook, {charge.key, charge.quota, 0, charge.tag});
  }
  // Each asks every millisecond, for more than the limit.
  void expect_held(const Quota& quota);

  const Quota quota_ = *Quota::make({Algorithm::kFixedWindow, 3'000, 1h});
};

TEST_F(FarRedis, PlacesHoldOneLimitWithinAnIntervalAndATrip) {
  for (const Duration trip : {1ms, 80ms, 150ms}) add_far(trip, trip * 50);
  expect_held(quota_);
  auto days = *Quota::make({Algorithm::kCalendarWindow, 3'000, 24h});
  days.set_window_ends({redis_.now - 1h, redis_.now + 23h, redis_.now + 47h});
  expect_held(days);
}

void FarRedis::expect_held(const Quota& quota) {
  const Charge charge{fresh_key(), &quota, 1};
  std::int64_t admitted = 0;
  Instant reached = Instant::max();
  Instant last{};
  for (int ms = 0; ms < 5'000; ++ms) {
    let_pass(1ms);
    for (const auto& node : nodes_) {
      if (!node->spend(charge).value()) continue;
      last = redis_.now;
      if (++admitted == quota.limit()) reached = redis_.now;
    }
  }
  EXPECT_GE(admitted, quota.limit());
  EXPECT_LE(last - reached, kFarInterval + 150ms);
}

TEST_F(FarRedis, ALookTakesAKeyForUntouchedAndKnowsATripLater) {
  SyncingNode& near = add_far(1ms);
  SyncingNode& far = add_far(150ms);
  const Charge charge{fresh_key(), &quota_, 1'000};
  EXPECT_TRUE(near.spend(charge).value());
  let_pass(10ms);
  EXPECT_EQ(look(far, charge).remaining, 3'000);
  let_pass(150ms);
  EXPECT_EQ(look(far, charge).remaining, 2'000);
}

// One near by asks Redis first.
TEST_F(FarRedis, AnOldDenialIsDecidedAtOnceAndLearnsOfAResetATripLater) {
  SyncingNode& far = add_far(150ms);
  SyncingNode& near = add_node(0s);
  const Charge charge{fresh_key(), &quota_, 3'000};
  EXPECT_TRUE(far.spend(charge).value());
  EXPECT_FALSE(far.spend(charge).value());
  let_pass(10s);
  near.decide(Operation::kReset, charge);
  EXPECT_FALSE(far.spend(charge).value());
  let_pass(150ms);
  EXPECT_TRUE(far.spend(charge).value());
}

// Else a link that swallows what it is given would cost each place the whole limit again and again.
TEST_F(FarRedis, AKeyWhoseSyncsFailFailsUntilOneIsBack) {
  SyncingNode& node = add_far(10ms);
  const Charge charge{fresh_key(), &quota_, 100};
  EXPECT_TRUE(node.spend(charge).value());
  let_pass(1s);
  redis_.is_hanging = true;
  EXPECT_TRUE(node.spend(charge).value()) << "nobody knows yet";
  let_pass(2s);
  for (int second = 0; second < 5; ++second) {
    EXPECT_EQ(node.spend(charge), std::nullopt) << second;
    let_pass(700ms);
  }
  redis_.is_hanging = false;
  const auto is_back = [&] {
    let_pass(100ms);
    return node.spend(charge) == true;
  };
  int tries = 0;
  while (!is_back()) ASSERT_LT(++tries, 100);
}

}  // namespace
}  // namespace weir
