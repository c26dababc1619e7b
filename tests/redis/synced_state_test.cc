// Copies of keys and the keys themselves: C++ and the script make the same of them.

#include "store/redis/async/synced_state.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "algo/testing/random_life.h"
#include "redis/script_redis.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using algo::testing::within;
using testing::kStart;

[[maybe_unused]] const int kSeedIsFixed = setenv("RC_PARAMS", "seed=20171114 max_success=200", 0);

class SyncedStates : public ::testing::Test {
 protected:
  // Spends and syncs in turn, there and here.
  void live(Algorithm algorithm) {
    Quota quota = *Quota::make({algorithm, within(1, 1000), Duration{within(1'000, 3'000'000)}});
    const KeyHash key = script_.fresh_key();
    SyncedState copy{};
    Instant now = kStart;
    for (int step = 0; step < 40; ++step) {
      if (within(0, 5) == 0) {  // an adaptive one switches
        const bool is_bucket = within(0, 1) == 0;
        quota = quota.following(
            {.algorithm = is_bucket ? Algorithm::kTokenBucket : Algorithm::kSlidingWindow,
             .number = quota.switch_number() + 1});
      }
      now += Duration{within(-quota.window().count() / 20, quota.window().count() / 2)};
      const std::int64_t units = within(0, quota.limit() / 2 + 2);
      if (within(0, 1) == 0) {
        charge(quota, copy, units, now);
        const SyncedState there = script_.sync({key, &quota, units}, now);
        // Redis does not store what a sync of nothing makes of a state.
        if (units > 0) RC_ASSERT(copy == there);
      } else {
        const Decision looked = look_at(quota, copy, units, now);
        const Decision here = spend(quota, copy, units, now);
        RC_ASSERT(here == script_.spend({key, &quota, units}, now));
        RC_ASSERT(looked.verdict == here.verdict && looked.retry_after == here.retry_after);
      }
    }
  }

  testing::Script script_;
};

TEST_F(SyncedStates, AreTheSameHereAndThere) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingWindow,
                                    Algorithm::kTokenBucket, Algorithm::kAdaptive}) {
    EXPECT_TRUE(rc::check("the same", [&] { live(algorithm); })) << algorithm_name(algorithm);
  }
}

TEST_F(SyncedStates, OfABucketOweNoMoreThanIsBelieved) {
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 5, 1min});
  const KeyHash key = script_.fresh_key();
  SyncedState copy{};
  charge(quota, copy, kCostMax, kStart);
  EXPECT_EQ(copy, (SyncedState{epoch_us(kStart + 2min), 0, 0}));
  EXPECT_EQ(copy, script_.sync({key, &quota, kCostMax}, kStart));
}

TEST_F(SyncedStates, OfAnAdaptiveKeyFollowTheLaterSwitch) {
  const Quota sliding = *Quota::make({Algorithm::kAdaptive, 60, 1min});
  const Quota bucket = sliding.following({Algorithm::kTokenBucket, 1});
  const Quota backoff = sliding.following({Algorithm::kExponentialBackoff, 2});
  const KeyHash key = script_.fresh_key();
  SyncedState copy{};
  charge(sliding, copy, 60, kStart);
  EXPECT_EQ(look_at(sliding, copy, 1, kStart).retry_after, 61s);
  EXPECT_EQ(look_at(bucket, copy, 1, kStart).retry_after, 1s);
  copy = script_.sync({key, &bucket, 60}, kStart);
  EXPECT_EQ(look_at(sliding, copy, 1, kStart).retry_after, 1s);
  EXPECT_FALSE(is_in_backoff(copy));
  copy = script_.sync({key, &backoff, 0}, kStart);
  EXPECT_TRUE(is_in_backoff(copy));
  charge(sliding, copy, 1, kStart);
  EXPECT_TRUE(is_in_backoff(copy));
}

}  // namespace
}  // namespace weir
