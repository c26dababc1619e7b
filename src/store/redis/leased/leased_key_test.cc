#include "store/redis/leased/leased_key.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);
constexpr Duration kRedisAhead = 3s;

Quota bucket(std::int64_t limit) {
  return *Quota::make({.algorithm = Algorithm::kTokenBucket, .limit = limit, .window = 1min});
}

class LeasedKeyTest : public ::testing::Test {
 protected:
  void SetUp() override { key_.set_terms(quota_); }

  void receive(std::int64_t units, Duration length, bool is_long, Instant now = kNow) {
    Lease lease{.units = units, .length = length, .is_long = is_long};
    lease.decision = {.limit = 1000, .remaining = 500, .reset_after = 30s};
    key_.note_state(lease.decision, now);
    key_.receive({.lease = lease, .asked_at = now, .time_at_redis = now + kRedisAhead}, now);
  }
  LeaseTerms settled() {
    LeaseTerms terms;
    key_.settle(terms);
    return terms;
  }

  const Quota quota_ = bucket(1000);
  LeasedKey key_;
};

TEST_F(LeasedKeyTest, SpendsTheOlderLeaseFirst) {
  receive(3, 1s, false);
  receive(5, 10s, false);
  const Decision decision = key_.spend(4, kNow);
  EXPECT_EQ(key_.held(), 4);
  EXPECT_EQ(decision.limit, 1000);
  EXPECT_EQ(decision.remaining, 504);
  EXPECT_EQ(decision.reset_after, 30s);
  EXPECT_EQ(key_.drop_expired(kNow + 1s), 0);  // of the first nothing was left
  EXPECT_EQ(key_.drop_expired(kNow + 10s), 4);
  EXPECT_EQ(key_.held(), 0);
}

TEST_F(LeasedKeyTest, RunsLowByUnitsAndByTime) {
  receive(80, 8s, true);
  EXPECT_FALSE(key_.runs_low(kNow + 6s));
  EXPECT_TRUE(key_.runs_low(kNow + 7s));
  key_.spend(70, kNow);
  EXPECT_FALSE(key_.runs_low(kNow));
  key_.spend(1, kNow);
  EXPECT_TRUE(key_.runs_low(kNow));
}

TEST_F(LeasedKeyTest, RunsLowWhenATripMayTakeAsLongAsWhatIsHeld) {
  receive(100, 1s, false);
  key_.spend(100, kNow);
  const Instant later = kNow + 2 * LeasedKey::kAheadMin;
  receive(100, 1s, false, later);  // 50 are spent in that time
  key_.spend(50, later);
  EXPECT_FALSE(key_.runs_low(later));
  key_.spend(1, later);
  EXPECT_TRUE(key_.runs_low(later));
}

TEST_F(LeasedKeyTest, SettlesOnceWhatWasSpentOfLongLeases) {
  receive(10, 10s, true);
  key_.spend(4, kNow);
  const LeaseTerms terms = settled();
  EXPECT_EQ(terms.settled, 4);
  EXPECT_EQ(terms.settled_until, kNow + kRedisAhead + 10s);
  EXPECT_EQ(settled().settled, 0);
  key_.spend(6, kNow);
  receive(10, 20s, true);  // in the place of the one that is used up
  key_.spend(1, kNow);
  EXPECT_EQ(settled().settled, 7);
}

TEST_F(LeasedKeyTest, RedisHoldsNothingForShortLeases) {
  receive(10, 10s, false);
  key_.spend(4, kNow);
  EXPECT_EQ(settled().settled, 0);
  receive(10, 10s, true);
  receive(10, 10s, true);
  key_.spend(20, kNow);
  EXPECT_EQ(settled().settled, 14);
}

TEST_F(LeasedKeyTest, WhatGoesBackIsSettledWithWhatWasSpent) {
  receive(10, 10s, true);
  key_.spend(4, kNow);
  const auto returned = key_.give_back(0, kNow);
  EXPECT_EQ(returned.units, 6);
  EXPECT_EQ(returned.settled, 10);
  EXPECT_EQ(returned.end_at_redis, kNow + kRedisAhead + 10s);
  EXPECT_EQ(key_.held(), 0);
  EXPECT_EQ(key_.give_back(0, kNow).units, 0);
  EXPECT_EQ(settled().settled, 0);
}

TEST_F(LeasedKeyTest, NothingGoesBackOfALeaseThatHasEnded) {
  receive(10, 10s, true);
  EXPECT_EQ(key_.give_back(0, kNow + 10s).units, 0);
}

TEST_F(LeasedKeyTest, ALeaseTakesBackWhatWasSpentOfIt) {
  receive(10, 10s, true);
  key_.spend(4, kNow);
  EXPECT_FALSE(key_.take_back(5, kNow));
  EXPECT_TRUE(key_.take_back(3, kNow));
  EXPECT_EQ(settled().settled, 1);
  EXPECT_FALSE(key_.take_back(1, kNow));  // Redis knows of it
  EXPECT_FALSE(key_.take_back(0, kNow + 10s));
}

TEST_F(LeasedKeyTest, AShortLeaseGoesBackAndALongOneIfNobodyNeedsIt) {
  receive(20, 8s, true);
  receive(10, 4s, false);
  EXPECT_FALSE(key_.is_to_go_back(1, kNow + 3s - 1us));
  EXPECT_TRUE(key_.is_to_go_back(1, kNow + 3s));
  key_.spend(1, kNow + 3s);
  EXPECT_FALSE(key_.is_to_go_back(0, kNow + 6s));
  EXPECT_TRUE(key_.is_to_go_back(0, kNow + 7s));
  key_.spend(15, kNow);  // 4 are less than 1/64 of what Redis has left
  EXPECT_FALSE(key_.is_to_go_back(0, kNow + 7s));
}

TEST_F(LeasedKeyTest, DemandIsWhatWasSpentOrWouldHaveBeen) {
  key_.count_demand(3, kNow);
  EXPECT_FALSE(key_.is_busy(kNow + 1s));
  key_.count_demand(2, kNow + 1s);
  EXPECT_EQ(key_.demand_within(10s, kNow + 2s), 25);
  EXPECT_EQ(key_.demand_within(1min, kNow + 1s), 40);  // not more than 8 times
  receive(100, 10s, true, kNow + 2s);
  EXPECT_EQ(key_.demand_within(10s, kNow + 2500ms), 20);  // as before
  EXPECT_EQ(key_.demand_within(10s, kNow + 3s), 0);
  key_.spend(7, kNow + 3s);
  EXPECT_EQ(key_.demand_within(2s, kNow + 3s), 14);
  key_.drop_expired(kNow + 12s);  // lost units are no demand
  EXPECT_EQ(key_.demand_within(10s, kNow + 12s), 7);
}

TEST_F(LeasedKeyTest, ForgetsWhatAResetMadeVoid) {
  receive(10, 10s, true);
  key_.spend(4, kNow);
  EXPECT_EQ(key_.forget(), 6);
  EXPECT_EQ(key_.held(), 0);
  EXPECT_EQ(settled().settled, 0);
}

TEST(LeaseLength, FitsTheAlgorithm) {
  const auto made = [](Algorithm algorithm, Duration window) {
    return *Quota::make({.algorithm = algorithm, .limit = 100, .window = window});
  };
  EXPECT_EQ(lease_length(made(Algorithm::kFixedWindow, 1s)), 125ms);
  EXPECT_EQ(lease_length(made(Algorithm::kSlidingLog, 1s)), 62500us);
  EXPECT_EQ(lease_length(made(Algorithm::kTokenBucket, 1h)), LeasedKey::kLengthMax);
  EXPECT_EQ(lease_length(made(Algorithm::kExponentialBackoff, 1h)), 0s);
  EXPECT_EQ(long_lease_length(made(Algorithm::kFixedWindow, 10s)), 10s);
  EXPECT_EQ(long_lease_length(made(Algorithm::kSlidingLog, 8s)), 1s);
  EXPECT_EQ(long_lease_length(made(Algorithm::kTokenBucket, 1h)), LeasedKey::kLongMax);
  EXPECT_EQ(trickle_length(made(Algorithm::kTokenBucket, 1h)), 250ms);
  const Quota adaptive = made(Algorithm::kAdaptive, 8s);
  const Quota bucket = adaptive.following({Algorithm::kTokenBucket, 1});
  EXPECT_EQ(lease_length(adaptive), 500ms);
  EXPECT_EQ(lease_length(bucket), 500ms);
  EXPECT_EQ(lease_length(adaptive.following({Algorithm::kExponentialBackoff, 1})), 0s);
  EXPECT_EQ(long_lease_length(adaptive), 8s);
  EXPECT_EQ(long_lease_length(bucket), 0s);
  EXPECT_EQ(trickle_length(made(Algorithm::kSlidingLog, 8s)), 125ms);
  EXPECT_EQ(trickle_length(made(Algorithm::kFixedWindow, 8s)), 0s);
}

}  // namespace
}  // namespace weir
