// Quota::make accepts quotas that can be enforced, and names the wrong field of others.

#include "weir/quota.h"
#include "algo/quota_share.h"

#include <gtest/gtest.h>

#include <chrono>

#include "algo/quota_share.h"
#include "weir/decision.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// The field that make() refuses; empty if it accepts.
std::string_view objection(const QuotaSpec& spec) {
  const Result<Quota> quota = Quota::make(spec);
  if (quota) return {};
  EXPECT_EQ(quota.error().code, ErrorCode::kInvalidQuota);
  EXPECT_FALSE(quota.error().expected.empty());
  return quota.error().field;
}

TEST(Quota, KeepsWhatWasAskedFor) {
  const Result<Quota> quota = Quota::make({Algorithm::kFixedWindow, 5, 1min});
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->algorithm(), Algorithm::kFixedWindow);
  EXPECT_EQ(quota->limit(), 5);
  EXPECT_EQ(quota->window(), 1min);
  EXPECT_EQ(quota->capacity(), 5);
}

TEST(Quota, BoundsAreInclusive) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(objection({algorithm, 0, 1s}), "");
    EXPECT_EQ(objection({algorithm, -1, 1s}), "limit");
    EXPECT_EQ(objection({algorithm, kLimitMax, 1s}), "");
    EXPECT_EQ(objection({algorithm, kLimitMax + 1, 1s}), "limit");
    EXPECT_EQ(objection({algorithm, 1, kWindowMin}), "");
    EXPECT_EQ(objection({algorithm, 1, kWindowMin - 1us}), "window");
    EXPECT_EQ(objection({algorithm, 1, kWindowMax}), "");
    EXPECT_EQ(objection({algorithm, 1, kWindowMax + 1us}), "window");
    EXPECT_EQ(objection({algorithm, 1, 0s}), "window");
    EXPECT_EQ(objection({algorithm, 1, -1s}), "window");
  }
}

TEST(Quota, OnlyATokenBucketHasABurst) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const bool is_bucket = algorithm == Algorithm::kTokenBucket;
    EXPECT_EQ(objection({algorithm, 1, 1s, 1}), is_bucket ? "" : "burst");
    EXPECT_EQ(objection({algorithm, 1, 1s, -1}), "burst");
  }
  EXPECT_EQ(objection({Algorithm::kTokenBucket, kLimitMax, 1s, kLimitMax}), "");
  EXPECT_EQ(objection({Algorithm::kTokenBucket, kLimitMax, 1s, kLimitMax + 1}), "burst");
}

TEST(Quota, BurstDefaultsToTheLimit) {
  EXPECT_EQ(Quota::make({Algorithm::kTokenBucket, 7, 1s})->capacity(), 7);
  EXPECT_EQ(Quota::make({Algorithm::kTokenBucket, 7, 1s, 3})->capacity(), 3);
  EXPECT_EQ(Quota::make({Algorithm::kTokenBucket, 0, 1s, 3})->capacity(), 0) << "denies everything";
}

TEST(Quota, ABucketFillsInFourYearsOrItIsRefused) {
  EXPECT_EQ(objection({Algorithm::kTokenBucket, 1, kWindowMax, 4}), "");
  EXPECT_EQ(objection({Algorithm::kTokenBucket, 1, kWindowMax, 5}), "burst");
  EXPECT_EQ(objection({Algorithm::kTokenBucket, 3, kWindowMax, 12}), "");
  EXPECT_EQ(objection({Algorithm::kTokenBucket, 3, kWindowMax, 13}), "burst");
  EXPECT_EQ(objection({Algorithm::kTokenBucket, 1, 1s, kLimitMax}), "burst");
}

TEST(Quota, UnknownAlgorithmIsRefused) {
  EXPECT_EQ(objection({static_cast<Algorithm>(8), 1, 1s}), "algorithm");
}

TEST(Quota, AnAdaptiveOneFollowsTheSwitchAndKeepsItsTerms) {
  const Quota adaptive = *Quota::make({Algorithm::kAdaptive, 3, 1s});
  EXPECT_EQ(adaptive.active(), Algorithm::kSlidingWindow);
  EXPECT_EQ(adaptive.switch_number(), 0u);
  const Quota bucket = adaptive.following({Algorithm::kTokenBucket, 7});
  EXPECT_EQ(bucket.algorithm(), Algorithm::kAdaptive);
  EXPECT_EQ(bucket.active(), Algorithm::kTokenBucket);
  EXPECT_EQ(bucket.switch_number(), 7u);
  EXPECT_EQ(bucket.capacity(), 3);
  EXPECT_EQ(bucket.ticks_per_unit(), 1'000'000);
  EXPECT_EQ(bucket.ticks_per_us(), 3);
}

TEST(Quota, OthersFollowNothing) {
  for (int i = 0; i < kDecidingAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const Quota quota = Quota::make({algorithm, 1, 1s})->following({Algorithm::kTokenBucket, 7});
    EXPECT_EQ(quota.algorithm(), algorithm);
    EXPECT_EQ(quota.active(), algorithm);
    EXPECT_EQ(quota.switch_number(), 0u);
  }
}

TEST(Quota, AShareOfAnAdaptiveOneFollowsTheSameSwitch) {
  const Quota quota =
      Quota::make({Algorithm::kAdaptive, 10, 1s})->following({Algorithm::kTokenBucket, 7});
  const Quota share = share_of(quota, 3);
  EXPECT_EQ(share.limit(), 3);
  EXPECT_EQ(share.active(), Algorithm::kTokenBucket);
  EXPECT_EQ(share.switch_number(), 7u);
}

TEST(Quota, TicksAreTheEmissionIntervalReduced) {
  struct Case {
    std::int64_t limit;
    Duration window;
    std::int64_t ticks_per_unit;
    std::int64_t ticks_per_us;
  };
  const Case cases[] = {
      {10, 1s, 100'000, 1},
      {3, 1s, 1'000'000, 3},
      {5'000'000, 1s, 1, 5},
      {1'000'000, 1s, 1, 1},
      {60, 1min, 1'000'000, 1},
      {7, 1ms, 1'000, 7},
      {kLimitMax, 1ms, 1, 1'000'000'000},
      {1, kWindowMax, kWindowMax.count(), 1},
      {0, 1s, 1, 1},
  };
  for (const Case& c : cases) {
    const Result<Quota> quota = Quota::make({Algorithm::kTokenBucket, c.limit, c.window});
    ASSERT_TRUE(quota);
    EXPECT_EQ(quota->ticks_per_unit(), c.ticks_per_unit);
    EXPECT_EQ(quota->ticks_per_us(), c.ticks_per_us);
  }
}

TEST(Quota, APercentageIsOfTheLimitAndTheBurst) {
  const auto bucket = Quota::make(
      {.algorithm = Algorithm::kTokenBucket, .limit = 100, .window = 1min, .burst = 30});
  const Quota half = percent_of(*bucket, 50);
  EXPECT_EQ(half.algorithm(), Algorithm::kTokenBucket);
  EXPECT_EQ(half.limit(), 50);
  EXPECT_EQ(half.capacity(), 15);
  EXPECT_EQ(half.window(), 1min);
  EXPECT_EQ(percent_of(*bucket, 100).limit(), 100);
  EXPECT_EQ(percent_of(*bucket, 1).capacity(), 1) << "at least one unit";
  const auto most = Quota::make({.limit = kLimitMax, .window = 1min});
  EXPECT_EQ(percent_of(*most, 99).limit(), kLimitMax / 100 * 99);
  const auto none = Quota::make({.limit = 0, .window = 1min});
  EXPECT_EQ(percent_of(*none, 50).limit(), 0);
}

TEST(Quota, NamesReadBack) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(algorithm_from_name(algorithm_name(algorithm)), algorithm);
  }
  EXPECT_EQ(algorithm_name(Algorithm::kSlidingWindow), "sliding_window");
  EXPECT_EQ(algorithm_from_name("Sliding_Window"), std::nullopt);
  EXPECT_EQ(algorithm_from_name(""), std::nullopt);
}

TEST(Time, InstantsCountFromTheEpoch) {
  EXPECT_EQ(epoch_us(Instant{}), 0);
  EXPECT_EQ(epoch_us(instant_from_epoch_us(1) + 1s), 1'000'001);
}

TEST(Decision, WholeSecondsRoundUp) {
  EXPECT_EQ(whole_seconds(0us), 0);
  EXPECT_EQ(whole_seconds(1us), 1);
  EXPECT_EQ(whole_seconds(1s), 1);
  EXPECT_EQ(whole_seconds(1s + 1us), 2);
}

}  // namespace
}  // namespace weir
