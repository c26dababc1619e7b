// When nodes in mode async sync a key with a real Redis, in simulated time.

#include <gtest/gtest.h>

#include "redis/syncing_node.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::kInterval;
using testing::SyncingNode;

using AsyncSyncs = testing::SyncingFleet;

// One key a millisecond. Each by itself would be a trip.
TEST_F(AsyncSyncs, NewKeysThatComeCloseTogetherShareTrips) {
  SyncingNode& node = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 1000, 1min});
  for (int ms = 0; ms < 1000; ++ms) {
    let_pass(1ms);
    EXPECT_TRUE(node.spend({fresh_key(), &quota, 1}).value());
  }
  EXPECT_LE(node.link.calls, 320);
  EXPECT_GE(node.link.calls, 100);  // and none of them waits for half an interval
}

TEST_F(AsyncSyncs, ACalmKeyIsSyncedSeldomAndALateOneStillInTime) {
  SyncingNode& node = add_node(0s);
  SyncingNode& other = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 10'000, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(node.spend(charge));
    let_pass(kInterval);
  }
  EXPECT_LE(node.store.counts()[kAsyncPushes], 3);
  let_pass(AsyncKey::kCalmIntervals * kInterval);
  EXPECT_EQ(other.decide(Operation::kLook, charge).remaining, 10'000 - 30);  // all of it was pushed
  // 1/768 of the limit at once is pushed at once.
  const auto pushes = node.store.counts()[kAsyncPushes];
  for (int i = 0; i < 14; ++i) EXPECT_TRUE(node.spend(charge));
  let_pass(kInterval);
  EXPECT_GT(node.store.counts()[kAsyncPushes], pushes);
}

// Others exhaust a key of which this node has a copy that is calm.
TEST_F(AsyncSyncs, ACalmCopyAdmitsOnlyALittleMore) {
  SyncingNode& calm = add_node(0s);
  SyncingNode& busy = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 2'560, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  int admitted = 0;
  const auto spend = [&](SyncingNode& node) {
    admitted += node.spend(charge).value_or(false) ? 1 : 0;
  };
  spend(calm);
  let_pass(kInterval);
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 30; ++j) spend(busy);
    spend(calm);
    let_pass(kInterval / 2);
  }
  EXPECT_GE(admitted, 2'560);
  EXPECT_LE(admitted, 2'560 + 2 * 60 + 4);  // of two intervals, and 1/768
}

}  // namespace
}  // namespace weir
