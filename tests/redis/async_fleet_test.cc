// Several nodes in mode async on one real Redis, in simulated time.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "redis/syncing_node.h"
#include "store/redis/script/charge_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::kInterval;
using testing::SyncingNode;

using AsyncFleet = testing::SyncingFleet;

struct Row {
  Algorithm algorithm;
  std::int64_t limit;
  Duration trip;
};

// One check a millisecond on each node, until long after the limit is reached.
TEST_F(AsyncFleet, AfterAnIntervalAndATripAllNodesDeny) {
  for (const Duration skew : {-10s, 0s, 10s}) add_node(skew);
  for (const Row& row :
       {Row{Algorithm::kFixedWindow, 500, 0ms}, Row{Algorithm::kFixedWindow, 30, 6ms},
        Row{Algorithm::kFixedWindow, 1000, 40ms}, Row{Algorithm::kSlidingWindow, 500, 2ms},
        Row{Algorithm::kSlidingWindow, 777, 30ms}}) {
    redis_.now += 10min - (redis_.now - Instant{}) % 1min;
    for (const auto& node : nodes_) node->link.delay = row.trip;
    const Quota quota = *Quota::make({row.algorithm, row.limit, 1min});
    const Charge charge{fresh_key(), &quota, 1};
    std::int64_t admitted = 0;
    Instant reached = Instant::max();
    Instant last = Instant{};
    for (int ms = 0; ms < 2000; ++ms) {
      let_pass(1ms);
      for (const auto& node : nodes_) {
        if (!node->spend(charge).value()) continue;
        last = redis_.now;
        if (++admitted == row.limit) reached = redis_.now;
      }
    }
    EXPECT_GE(admitted, row.limit) << algorithm_name(row.algorithm) << " " << row.limit;
    EXPECT_LE(last - reached, kInterval + row.trip) << algorithm_name(row.algorithm);
    let_pass(1s);
    EXPECT_EQ(left_in_redis(charge), 0);
  }
}

TEST_F(AsyncFleet, ABucketAdmitsAsMuchMoreAsArrivedInAnIntervalAndATrip) {
  for (const Duration skew : {-10s, 0s, 10s}) add_node(skew).link.delay = 10ms;
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 300, 1s, 200});
  const Charge charge{fresh_key(), &quota, 1};
  std::int64_t admitted = 0;
  for (int ms = 0; ms < 4000; ++ms) {
    let_pass(1ms);
    for (const auto& node : nodes_) admitted += node->spend(charge).value() ? 1 : 0;
    EXPECT_LE(admitted, 200 + 300 * (ms + 1) / 1000 + 3 * 110);
  }
  EXPECT_GE(admitted, 200 + 300 * 4 - 60);
}

TEST_F(AsyncFleet, AKeyIsKnownOnOtherNodesAfterATripIfNothingIsUnderWay) {
  SyncingNode& one = add_node(0s);
  SyncingNode& other = add_node(5s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 3, 1min});
  const Charge charge{fresh_key(), &quota, 3};
  EXPECT_TRUE(one.spend(charge).value());
  EXPECT_TRUE(other.spend(charge).value());
  EXPECT_FALSE(other.spend(charge).value());
  let_pass(kInterval);
  EXPECT_FALSE(one.spend(charge).value());
}

TEST_F(AsyncFleet, ANodeThatDiesHasNotToldAnIntervalAtMost) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10'000, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  SyncingNode& node = add_node(0s);
  for (int ms = 0; ms < 1234; ++ms) {
    let_pass(1ms);
    EXPECT_TRUE(node.spend(charge).value());
  }
  nodes_.clear();
  EXPECT_LE(left_in_redis(charge), 10'000 - 1234 + 100);
}

TEST_F(AsyncFleet, ANodeThatLeavesTellsAllItHas) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10'000, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  const Charge other{fresh_key(), &quota, 1};
  const Charge calm{fresh_key(), &quota, 1};
  SyncingNode& node = add_node(0s);
  node.link.delay = 4ms;
  EXPECT_TRUE(node.spend(calm).value());
  let_pass(2 * kInterval);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(node.spend(calm).value());
  Asked all_or_nothing({calm}, Operation::kSpendAll);
  node.ask(all_or_nothing);
  EXPECT_TRUE(all_or_nothing.is_allowed());
  let_pass(2 * kInterval);
  EXPECT_EQ(left_in_redis(calm), 10'000 - 1);  // it is synced seldom
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(node.spend(charge).value());
  let_pass(1ms);  // the first is on its way
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(node.spend(charge).value());
  EXPECT_TRUE(node.spend(other).value());
  const Instant begun = node.now();
  while (!node.store.tell_all(node.now())) let_pass(1ms);
  EXPECT_LE(node.now() - begun, 3 * node.link.delay);
  EXPECT_EQ(left_in_redis(charge), 10'000 - 50);
  EXPECT_EQ(left_in_redis(other), 10'000 - 1);
  EXPECT_EQ(left_in_redis(calm), 10'000 - 6);
}

TEST_F(AsyncFleet, ANodeThatLeavesDoesNotWaitForARedisThatIsAway) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10'000, 1h});
  SyncingNode& node = add_node(0s);
  EXPECT_TRUE(node.spend({fresh_key(), &quota, 1}).value());
  EXPECT_TRUE(node.spend({fresh_key(), &quota, 1}).value());
  node.link.cut(node.now());
  EXPECT_TRUE(node.store.tell_all(node.now()));
  node.link.restore();
  redis_.is_hanging = true;
  const Instant begun = node.now();
  while (!node.store.tell_all(node.now())) let_pass(1ms);
  EXPECT_LE(node.now() - begun, AsyncKey::kPatience + 2ms);
}

TEST_F(AsyncFleet, WhatWasCountedWhileRedisWasAwayIsToldAtTheReturn) {
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 100, 24h});
  const Charge charge{fresh_key(), &quota, 1};
  SyncingNode& node = add_node(0s);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(node.spend(charge).value());
  node.link.cut(node.now());
  for (int i = 0; i < 7; ++i) {
    let_pass(10ms);
    EXPECT_FALSE(node.spend(charge).has_value());
    node.store.note_admitted(charge, node.now());
  }
  EXPECT_EQ(node.store.counts()[kAsyncAlone], 7);
  node.link.restore();
  let_pass(kInterval);
  EXPECT_EQ(left_in_redis(charge), 100 - 12);
  EXPECT_TRUE(node.spend(charge).value());
}

TEST_F(AsyncFleet, ARedisThatHangsIsAwayAndComesBackWithNothingLost) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10'000, 24h});
  const Charge charge{fresh_key(), &quota, 1};
  SyncingNode& node = add_node(0s);
  std::int64_t admitted = 0;
  const auto live_for = [&](Duration time) {
    std::int64_t failed = 0;
    for (Duration passed{0}; passed < time; passed += 1ms) {
      let_pass(1ms);
      const auto answer = node.spend(charge);
      failed += answer.has_value() ? 0 : 1;
      admitted += answer.value_or(false) ? 1 : 0;
    }
    return failed;
  };
  EXPECT_EQ(live_for(300ms), 0);
  redis_.is_hanging = true;
  EXPECT_GT(live_for(3s), 2'400);
  redis_.is_hanging = false;
  EXPECT_LT(live_for(3s), 1'100);  // until it is tried again
  EXPECT_TRUE(node.sender.breaker().closed());
  let_pass(kInterval);
  // A push that hung is made twice at most.
  EXPECT_LE(left_in_redis(charge), 10'000 - admitted);
  EXPECT_GE(left_in_redis(charge), 10'000 - admitted - 100);
}

TEST_F(AsyncFleet, KeysOfAMasterThatIsAwayFailAndNoOthers) {
  SyncingNode& node = add_node(0s, 64, KeySpread::kCluster);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 1000, 1h});
  const Charge there{fresh_key(), &quota, 1};
  const Charge away{fresh_key(), &quota, 1};
  for (const Charge& charge : {there, away}) EXPECT_EQ(node.spend(charge), true);
  let_pass(2 * kInterval);
  node.link.lost_slot = slot_of(away);
  const auto live_for = [&](Duration time) {
    int decided = 0;
    for (Duration passed{0}; passed < time; passed += 20ms) {
      let_pass(20ms);
      EXPECT_TRUE(node.spend(there).has_value());
      decided += node.spend(away).has_value() ? 1 : 0;
    }
    return decided;
  };
  const int untold = live_for(3s);
  EXPECT_LE(untold, 5);
  EXPECT_TRUE(node.sender.breaker().closed());
  EXPECT_EQ(node.own_remaining(away), left_in_redis(away) - untold);
  node.link.lost_slot.reset();
  let_pass(kInterval);
  EXPECT_EQ(left_in_redis(away), 1'000 - 1 - untold);
  EXPECT_EQ(live_for(1s), 50);
}

TEST_F(AsyncFleet, NobodyGuessesAboutKeysOfAMasterThatIsAway) {
  SyncingNode& node = add_node(0s, 64, KeySpread::kCluster);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 100, 1h});
  const Charge there{fresh_key(), &quota, 1};
  const Charge away{fresh_key(), &quota, 1};
  node.link.lost_slot = slot_of(away);
  for (int i = 0; i < 3; ++i) {
    Asked fails({away});
    node.ask(fails);
    EXPECT_TRUE(fails.has_failed());
    EXPECT_TRUE(node.decide(Operation::kSpendEach, there).allowed());
    let_pass(kInterval);
  }
  EXPECT_EQ(left_in_redis(there), 100 - 3);
}

TEST_F(AsyncFleet, AKeyThatWasLostLongAgoIsAskedForAgain) {
  SyncingNode& node = add_node(0s, 64, KeySpread::kCluster);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 10, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  EXPECT_EQ(node.spend(charge), true);
  let_pass(2 * kInterval);
  node.link.lost_slot = slot_of(charge);
  Asked look({charge}, Operation::kLook);
  node.ask(look);
  EXPECT_TRUE(look.has_failed());  // nothing is to be pushed, so no sync is tried again
  let_pass(kInterval);
  EXPECT_EQ(add_node(0s).spend({charge.key, &quota, 3}), true);
  node.link.lost_slot.reset();
  let_pass(AsyncKey::kLostFor);
  const Decision check = node.decide(Operation::kSpendEach, charge);
  EXPECT_TRUE(check.allowed());
  EXPECT_EQ(check.remaining, 5);
}

TEST_F(AsyncFleet, AllOrNothingIsDecidedInMemory) {
  SyncingNode& node = add_node(0s);
  const Quota large = *Quota::make({Algorithm::kFixedWindow, 10, 1h});
  const Quota small = *Quota::make({Algorithm::kTokenBucket, 4, 1h});
  const KeyHash one = fresh_key();
  const KeyHash other = fresh_key();
  Asked fits({{one, &large, 3}, {other, &small, 3}}, Operation::kSpendAll);
  node.ask(fits);
  EXPECT_TRUE(fits.is_allowed());
  Asked denied({{one, &large, 3}, {other, &small, 3}}, Operation::kSpendAll);
  node.ask(denied);
  EXPECT_TRUE(denied.decisions[0].allowed());
  EXPECT_EQ(denied.decisions[0].remaining, 7);
  EXPECT_FALSE(denied.decisions[1].allowed());
  Asked twice({{one, &large, 4}, {one, &large, 4}}, Operation::kSpendAll);
  node.ask(twice);
  EXPECT_FALSE(twice.is_allowed());
  let_pass(kInterval);
  EXPECT_EQ(left_in_redis({one, &large}), 7);
  EXPECT_EQ(left_in_redis({other, &small}), 1);
  EXPECT_EQ(node.store.counts()[kAsyncPassedOn], 0);
}

TEST_F(AsyncFleet, AChargeBeyondTheLimitReachesTheOthersWithinAnInterval) {
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kTokenBucket, Algorithm::kExponentialBackoff, Algorithm::kAdaptive}) {
    SyncingNode& node = add_node(0s);
    SyncingNode& other = add_node(3s);
    const Quota quota = *Quota::make({algorithm, 10, 24h});
    const Charge look{fresh_key(), &quota, 0};
    const auto looks = [&](SyncingNode& at) { return at.decide(Operation::kLook, look).allowed(); };
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(looks(node) && looks(other)) << algorithm_name(algorithm);
      EXPECT_EQ(node.decide(Operation::kCharge, {look.key, &quota, 7}).allowed(), i == 0);
      EXPECT_EQ(looks(node), i == 0);
      let_pass(2 * kInterval);
    }
    EXPECT_FALSE(looks(node) || looks(other)) << algorithm_name(algorithm);
    EXPECT_FALSE(node.decide(Operation::kSpendEach, {look.key, &quota, 1}).allowed());
  }
}

TEST_F(AsyncFleet, ADebtThatIsNotYetToldCanBeGivenBack) {
  SyncingNode& node = add_node(0s);
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow}) {
    const Quota quota = *Quota::make({algorithm, 1'000'000'000'000, 24h});
    // Others hurry, so this one waits.
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(node.spend({fresh_key(), &quota, 1}).value());
    const KeyHash key = fresh_key();
    for (int i = 0; i < 3; ++i) {
      Asked all({{key, &quota, kCostMax}}, Operation::kCharge);
      node.ask(all);
    }
    for (const std::int64_t cost : {-quota.limit(), std::int64_t{-1}}) {
      EXPECT_EQ(node.decide(Operation::kSpendEach, {key, &quota, cost}).remaining,
                cost == -1 ? 1 : 0)
          << algorithm_name(algorithm);
    }
    let_pass(kInterval);
    EXPECT_EQ(left_in_redis({key, &quota}), 1) << algorithm_name(algorithm);
  }
}

TEST_F(AsyncFleet, WhatIsTakenOfTheRestReachesTheOthersWithinAnInterval) {
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kTokenBucket, Algorithm::kAdaptive}) {
    SyncingNode& node = add_node(0s);
    SyncingNode& other = add_node(3s);
    const Quota quota = *Quota::make({algorithm, 10, 24h});
    const KeyHash key = fresh_key();
    for (const bool fits : {true, false}) {
      const Decision seven = node.decide(Operation::kDrain, {key, &quota, 7});
      EXPECT_EQ(seven.allowed(), fits) << algorithm_name(algorithm);
      EXPECT_EQ(seven.remaining, fits ? 3 : 0);
      let_pass(2 * kInterval);
    }
    EXPECT_EQ(left_in_redis({key, &quota}), 0) << algorithm_name(algorithm);
    EXPECT_FALSE(other.decide(Operation::kLook, {key, &quota, 1}).allowed());
  }
}

TEST_F(AsyncFleet, WhatMemoryCannotAnswerIsDecidedStrictly) {
  SyncingNode& node = add_node(0s);
  SyncingNode& other = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 10, 1h});
  const Quota log = *Quota::make({Algorithm::kSlidingLog, 10, 1h});
  const Charge charge{fresh_key(), &quota, 6};
  EXPECT_TRUE(node.spend(charge).value());
  let_pass(kInterval);
  const Decision look = other.decide(Operation::kLook, charge);
  EXPECT_FALSE(look.allowed());
  EXPECT_EQ(look.remaining, 4);
  EXPECT_EQ(other.decide(Operation::kSpendEach, {charge.key, &quota, -5}).remaining, 9);
  let_pass(2 * kInterval);
  Asked reset({charge}, Operation::kReset);
  node.ask(reset);
  EXPECT_TRUE(node.spend(charge).value());
  EXPECT_TRUE(node.decide(Operation::kSpendEach, {fresh_key(), &log, 1}).allowed());
  EXPECT_EQ(node.store.counts()[kAsyncPassedOn], 2);
  EXPECT_EQ(other.store.counts()[kAsyncPassedOn], 2);
}

TEST_F(AsyncFleet, AFullTableForgetsNeitherCountsNorDenials) {
  SyncingNode& node = add_node(0s, 32);
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 1, 1h});
  const Charge denied{fresh_key(), &quota, 1};
  EXPECT_TRUE(node.spend(denied).value());
  EXPECT_FALSE(node.spend(denied).value());
  std::vector<Charge> flood;
  for (int i = 0; i < 500; ++i) {
    flood.push_back({fresh_key(), &quota, 1});
    EXPECT_TRUE(node.decide(Operation::kSpendEach, flood.back()).allowed());
    if (i % 10 == 0) {
      EXPECT_FALSE(node.spend(denied).value());
    }
    let_pass(5ms);
  }
  let_pass(kInterval);
  for (const Charge& charge : flood) EXPECT_EQ(left_in_redis(charge), 0);
}

TEST_F(AsyncFleet, WhatHasExpiredInALongOutageIsNotTold) {
  SyncingNode& node = add_node(0s);
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    const Quota quota = *Quota::make({algorithm, 100, 10s});
    const Charge charge{fresh_key(), &quota, 1};
    EXPECT_TRUE(node.spend(charge));
    let_pass(kInterval);
    node.link.cut(node.now());
    for (int i = 0; i < 120; ++i) {  // 4 a second, for three windows
      EXPECT_EQ(node.spend(charge), std::nullopt);
      node.store.note_admitted(charge, node.now());
      let_pass(250ms);
    }
    node.link.restore();
    let_pass(1s);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(node.spend(charge), true) << algorithm_name(algorithm);
    EXPECT_GT(node.store.counts()[kAsyncForgotten], 0);
  }
}

TEST_F(AsyncFleet, AnOldDenialIsNotBelieved) {
  SyncingNode& node = add_node(0s);
  SyncingNode& other = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 5, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(node.spend(charge), true);
  EXPECT_EQ(node.spend(charge), false);
  let_pass(2 * kInterval);
  Asked reset({charge}, Operation::kReset);
  other.ask(reset);
  let_pass(1s);
  Asked check({charge});  // after a trip
  node.ask(check);
  EXPECT_TRUE(check.is_allowed());
}

TEST_F(AsyncFleet, WhoLooksSeesWhatOthersSpentSince) {
  SyncingNode& node = add_node(0s);
  SyncingNode& other = add_node(0s);
  const Quota quota = *Quota::make({Algorithm::kSlidingWindow, 100, 1h});
  const Charge charge{fresh_key(), &quota, 1};
  EXPECT_TRUE(node.spend(charge));
  let_pass(2 * kInterval);
  for (int i = 0; i < 90; ++i) other.spend(charge);
  let_pass(2 * kInterval);
  EXPECT_EQ(node.decide(Operation::kLook, charge).remaining, 9);
}

// ---- switches of adaptive keys ---------------------------------------------------------

struct AdaptiveCopies : AsyncFleet {
  Decision ask(SyncingNode& node, const Quota& quota, std::int64_t cost) {
    return node.decide(Operation::kSpendEach, {key_, &quota, cost});
  }

  const Quota sliding_ = *Quota::make({Algorithm::kAdaptive, 100, 10s});
  const Quota bucket_ = sliding_.following({Algorithm::kTokenBucket, 1});
  const Quota backoff_ = sliding_.following({Algorithm::kExponentialBackoff, 2});
  const KeyHash key_ = fresh_key();
  SyncingNode& lags_ = add_node(0s);
  SyncingNode& knows_ = add_node(3s);
};

TEST_F(AdaptiveCopies, ASyncWithALaterSwitchReplacesTheCopyOfWhoLags) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(ask(lags_, sliding_, 1).allowed());
    EXPECT_TRUE(ask(knows_, bucket_, 1).allowed());
  }
  let_pass(300ms);
  ask(knows_, bucket_, 3);
  ask(lags_, sliding_, 1);
  let_pass(100ms);
  const Decision denied = ask(lags_, sliding_, 50);
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_LT(denied.retry_after, 6s);  // a sliding window's is over ten
}

TEST_F(AdaptiveCopies, InBackoffRedisDecidesAlsoForWhoLags) {
  ask(lags_, sliding_, 1);
  let_pass(100ms);
  for (int i = 0; i < 12; ++i) ask(knows_, backoff_, 100);  // one level up
  ask(lags_, sliding_, 1);
  let_pass(100ms);
  const auto passed_on = lags_.store.counts()[kAsyncPassedOn];
  EXPECT_EQ(ask(lags_, sliding_, 60).backoff_level, 1);
  EXPECT_EQ(lags_.store.counts()[kAsyncPassedOn], passed_on + 1);
}

}  // namespace
}  // namespace weir
