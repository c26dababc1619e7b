#include "store/redis/keys/denial_memory.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

Decision denied(Duration retry_after) {
  return {.verdict = Verdict::kDenied,
          .limit = 10,
          .remaining = 2,
          .retry_after = retry_after,
          .reset_after = 300ms};
}

class DenialMemoryTest : public ::testing::Test {
 protected:
  Quota quota_ = *Quota::make({Algorithm::kFixedWindow, 10, 1min});
  Quota larger_ = *Quota::make({Algorithm::kFixedWindow, 11, 1min});
  Quota backoff_ = *Quota::make({Algorithm::kExponentialBackoff, 10, 1min});
  Charge charge_{{1, 2}, &quota_, 3};
  DenialMemory memory_{8};
};

TEST_F(DenialMemoryTest, HoldsUntilTheRequestWouldBeAllowed) {
  memory_.note(charge_, denied(500ms), kStart);
  const auto decision = memory_.find(charge_, kStart + 400ms);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->verdict, Verdict::kDenied);
  EXPECT_EQ(decision->retry_after, 100ms);
  EXPECT_EQ(decision->reset_after, 0ms);
  EXPECT_EQ(decision->remaining, 2);
  EXPECT_TRUE(memory_.find(charge_, kStart + 500ms - 1us));
  EXPECT_FALSE(memory_.find(charge_, kStart + 500ms));
}

TEST_F(DenialMemoryTest, ButNotForLong) {
  memory_.note(charge_, denied(1h), kStart);
  EXPECT_TRUE(memory_.find(charge_, kStart + 1s - 1us));
  EXPECT_FALSE(memory_.find(charge_, kStart + 1s));
  EXPECT_FALSE(memory_.find(charge_, kStart - 1us));
}

TEST_F(DenialMemoryTest, TellsUntilWhenADenialHolds) {
  memory_.note(charge_, denied(500ms), kStart);
  EXPECT_EQ(memory_.span_of(charge_.key).begin, kStart);
  EXPECT_EQ(memory_.span_of(charge_.key).end, kStart + 500ms);
  memory_.note(charge_, denied(1h), kStart);
  EXPECT_EQ(memory_.span_of(charge_.key).end, kStart + DenialMemory::kWorthMax);
}

TEST_F(DenialMemoryTest, KnowsNothingOfOthers) {
  memory_.note(charge_, denied(500ms), kStart);
  for (const Charge& other :
       {Charge{{1, 3}, &quota_, 3}, Charge{{2, 2}, &quota_, 3}, Charge{{1, 2}, &quota_, 2},
        Charge{{1, 2}, &quota_, 4}, Charge{{1, 2}, &quota_, 0}, Charge{{1, 2}, &larger_, 3}}) {
    EXPECT_FALSE(memory_.find(other, kStart));
  }
  EXPECT_FALSE(memory_.find({{0, 0}, &quota_, 0}, kStart));
}

TEST_F(DenialMemoryTest, NotesDenialsThatLeaveNoTrace) {
  Decision never = denied(0ms);
  never.verdict = Verdict::kNever;
  memory_.note(charge_, never, kStart);
  memory_.note(charge_, Decision{}, kStart);
  memory_.note({charge_.key, &backoff_, 3}, denied(1s), kStart);
  EXPECT_FALSE(memory_.find(charge_, kStart));
  EXPECT_FALSE(memory_.find({charge_.key, &backoff_, 3}, kStart));
}

TEST_F(DenialMemoryTest, ADenialDoesNotOutliveASwitch) {
  const Quota sliding = *Quota::make({Algorithm::kAdaptive, 10, 1min});
  const Quota bucket = sliding.following({Algorithm::kTokenBucket, 1});
  const Quota backoff = sliding.following({Algorithm::kExponentialBackoff, 2});
  memory_.note({charge_.key, &sliding, 3}, denied(500ms), kStart);
  EXPECT_TRUE(memory_.find({charge_.key, &sliding, 3}, kStart));
  EXPECT_FALSE(memory_.find({charge_.key, &bucket, 3}, kStart));
  memory_.note({charge_.key, &backoff, 3}, denied(500ms), kStart);
  EXPECT_FALSE(memory_.find({charge_.key, &backoff, 3}, kStart));
}

TEST_F(DenialMemoryTest, ForgetsAKeyAndWhoeverHadItsEntry) {
  memory_.note(charge_, denied(500ms), kStart);
  memory_.forget({1, 3});
  EXPECT_TRUE(memory_.find(charge_, kStart));
  memory_.forget(charge_.key);
  EXPECT_FALSE(memory_.find(charge_, kStart));

  memory_.note(charge_, denied(500ms), kStart);
  const Charge same_entry{{9, 2}, &quota_, 3};
  memory_.note(same_entry, denied(500ms), kStart);
  EXPECT_FALSE(memory_.find(charge_, kStart));
  EXPECT_TRUE(memory_.find(same_entry, kStart));
}

TEST_F(DenialMemoryTest, OfWhatCountsAlwaysKnowsOnlyTheDebtsOfFixedWindows) {
  memory_.note(charge_, denied(500ms), kStart);
  EXPECT_FALSE(memory_.find(charge_, kStart, Operation::kCharge)) << "it may be what goes over";
  memory_.note(charge_, denied(500ms), kStart, Operation::kCharge);
  EXPECT_TRUE(memory_.find({{1, 2}, &quota_, 1}, kStart, Operation::kCharge));
  EXPECT_FALSE(memory_.find({{1, 2}, &quota_, 2}, kStart, Operation::kCharge)) << "it is owed";
  EXPECT_TRUE(memory_.find({{1, 2}, &quota_, 1}, kStart));
  EXPECT_FALSE(memory_.find({{1, 2}, &quota_, 11}, kStart)) << "that would never fit";
  EXPECT_FALSE(memory_.find({{1, 2}, &quota_, 0}, kStart));
  memory_.forget_debt({1, 2});
  EXPECT_FALSE(memory_.find({{1, 2}, &quota_, 1}, kStart, Operation::kCharge));
  memory_.note(charge_, denied(500ms), kStart);
  memory_.forget_debt({1, 2});
  EXPECT_TRUE(memory_.find(charge_, kStart)) << "what a look may spend does not tell";
  const Quota sliding = *Quota::make({Algorithm::kSlidingWindow, 10, 1min});
  const Charge other{{3, 4}, &sliding, 3};
  memory_.note(other, denied(500ms), kStart, Operation::kCharge);
  EXPECT_FALSE(memory_.find(other, kStart, Operation::kCharge)) << "it prolongs the debt";
  EXPECT_FALSE(memory_.find(other, kStart));
}

TEST_F(DenialMemoryTest, WhatTakesTheRestIsAskedWhileThereMayBeSome) {
  Decision denial = denied(500ms);
  denial.remaining = 3;
  denial.more_after = 200ms;
  memory_.note(charge_, denial, kStart);
  EXPECT_FALSE(memory_.find(charge_, kStart, Operation::kDrain));
  denial.remaining = 0;
  memory_.note(charge_, denial, kStart);
  EXPECT_TRUE(memory_.find(charge_, kStart + 199ms, Operation::kDrain));
  EXPECT_FALSE(memory_.find(charge_, kStart + 200ms, Operation::kDrain));
  EXPECT_TRUE(memory_.find(charge_, kStart + 200ms));
}

}  // namespace
}  // namespace weir
