// Only long runs show that token_bucket never drifts. testdata/token_bucket.txt has other cases.

#include "algo/token_bucket.h"

#include <gtest/gtest.h>

#include <chrono>

#include "algo/testing/any_key.h"

namespace weir::algo {
namespace {

using namespace std::chrono_literals;
using testing::AnyKey;

// A client that always comes as early as it may gets 3 a second, not 3 in 1.000002 s.
TEST(TokenBucket, AMillionRefillsDoNotDrift) {
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 3, 1s, 2});
  AnyKey key(Algorithm::kTokenBucket);
  Instant now{};
  key.decide(quota, 2, now);
  constexpr int kUnits = 3'000'000;
  for (int i = 0; i < kUnits; ++i) {
    const Decision denied = key.decide(quota, 1, now);
    ASSERT_EQ(denied.verdict, Verdict::kDenied);
    now += denied.retry_after;
    ASSERT_TRUE(key.decide(quota, 1, now).allowed());
  }
  EXPECT_EQ(now, Instant{} + std::chrono::seconds(kUnits / 3));
}

TEST(TokenBucket, TicksOfAnotherLimitAreCutToOneMicrosecond) {
  AnyKey key(Algorithm::kTokenBucket);
  key.state<TokenBucketState>() = {1'000'000, 6};
  const Quota quota = *Quota::make({Algorithm::kTokenBucket, 3, 1s});
  const Instant now = instant_from_epoch_us(1'000'000);
  EXPECT_EQ(key.look(quota, 0, now).reset_after, 1us);
  key.decide(quota, 1, now);
  EXPECT_EQ(key.state<TokenBucketState>(), (TokenBucketState{1'333'334, 0})) << "2/3 + 333,333 1/3";
}

}  // namespace
}  // namespace weir::algo
