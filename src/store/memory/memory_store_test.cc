#include "weir/memory_store.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <vector>

#include "engine/testing/asked.h"
#include "store/memory/memory_testing.h"
#include "store/memory/packing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Quota in_backoff(const Quota& adaptive) {
  return adaptive.following({Algorithm::kExponentialBackoff, 1});
}

class MemoryStoreTest : public ::testing::Test {
 protected:
  Decision ask(Operation operation, const Charge& charge, Instant now = kNow) {
    return testing::ask(*store_, operation, charge, now);
  }
  Decision spend(const Charge& charge, Instant now = kNow) {
    return ask(Operation::kSpendEach, charge, now);
  }

  std::unique_ptr<MemoryStore> store_ = make_memory_store({.max_keys = 1024}, kStart);
};

TEST_F(MemoryStoreTest, RefusesImpossibleSizes) {
  EXPECT_THROW((void)make_memory_store({.max_keys = 1023}, kStart), std::invalid_argument);
  EXPECT_THROW((void)make_memory_store({.max_keys = (std::size_t{1} << 32) + 1}, kStart),
               std::invalid_argument);
}

TEST_F(MemoryStoreTest, SaysHowLargeItIs) {
  const MemoryStoreStats stats = store_->stats();
  EXPECT_GE(stats.capacity, 1024u);
  EXPECT_GT(stats.bytes, 1024u * 16);
  EXPECT_LT(stats.bytes, 1024u * 100);
  EXPECT_EQ(stats.evictions, 0u);
}

TEST_F(MemoryStoreTest, CountsLiveKeysOfBothHalves) {
  const Quota compact = quota_of({Algorithm::kTokenBucket, 10, 1min});
  const Quota wide = quota_of({Algorithm::kSlidingLog, 10, 1min});
  for (std::uint64_t key = 0; key < 7; ++key) {
    spend({key_of(key), &compact, 1});
    spend({key_of(100 + key), &wide, 1});
  }
  EXPECT_EQ(store_->count_live(kNow), 14u);
  EXPECT_EQ(store_->count_live(kNow + 10min), 0u);
}

// No flood of any keys may free a key in cooldown.
TEST_F(MemoryStoreTest, AFloodDoesNotFreeABlockedKey) {
  const Quota backoff = quota_of({Algorithm::kExponentialBackoff, 1, 1h});
  const Quota adaptive = in_backoff(quota_of({Algorithm::kAdaptive, 1, 1h}));
  const Charge blocked{key_of(1), &backoff, 1};
  const Charge blocked_too{key_of(2), &adaptive, 1};
  for (const Charge& charge : {blocked, blocked_too}) {
    while (spend(charge).backoff_level < 5) {
    }
    ASSERT_FALSE(spend(charge).allowed());
  }
  for (const Algorithm algorithm :
       {Algorithm::kFixedWindow, Algorithm::kSlidingLog, Algorithm::kSlidingWindow,
        Algorithm::kTokenBucket, Algorithm::kExponentialBackoff, Algorithm::kAdaptive}) {
    const Quota one = quota_of({algorithm, 1, 24h});
    for (std::uint64_t key = 10; key < 50'000; ++key) {
      const Charge flood{key_of(key * 8 + static_cast<std::uint64_t>(algorithm)), &one, 1};
      spend(flood);
      spend(flood);  // each of them over its limit, too
    }
    EXPECT_EQ(ask(Operation::kLook, blocked).backoff_level, 5) << algorithm_name(algorithm);
    EXPECT_EQ(ask(Operation::kLook, blocked_too).backoff_level, 5) << algorithm_name(algorithm);
  }
  EXPECT_GT(store_->stats().evictions, 100'000u);
}

TEST_F(MemoryStoreTest, AllLogsTogetherStayWithinTheirBound) {
  store_ = make_memory_store({.max_keys = 1024, .log_entries_max = 1024}, kStart);
  const Quota quota = quota_of({Algorithm::kSlidingLog, 1'000'000, 1h});
  std::int64_t admitted = 0;
  for (std::int64_t hit = 0; hit < 100'000; ++hit) {
    const Charge charge{key_of(static_cast<std::uint64_t>(hit % 50)), &quota, 1};
    admitted += spend(charge, kNow + Duration{hit}).allowed();
  }
  EXPECT_EQ(admitted, 100'000);  // merged, so none of them is forgotten:
  EXPECT_EQ(spend({key_of(7), &quota, 0}, kNow + 100ms).remaining, 1'000'000 - 2'000);
  EXPECT_LE(store_->stats().log_entries, 1024u);
}

// A thread that was kept waiting for several windows comes with an old time.
TEST_F(MemoryStoreTest, ALateRequestFreesNothing) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                    Algorithm::kSlidingWindow, Algorithm::kTokenBucket}) {
    store_ = make_memory_store({.max_keys = 1024}, kStart);
    const Quota quota = quota_of({algorithm, 5, 1ms});
    const Charge one{key_of(1), &quota, 1};
    const Instant present = kNow + 50ms;
    for (int hit = 0; hit < 5; ++hit) EXPECT_TRUE(spend(one, present).allowed());
    EXPECT_FALSE(spend(one, kNow).allowed()) << algorithm_name(algorithm);
    EXPECT_FALSE(spend(one, present).allowed()) << algorithm_name(algorithm);
  }
}

TEST_F(MemoryStoreTest, TimesFarOutsideItsServiceAreMovedToItsEnds) {
  const Quota quota = quota_of({Algorithm::kTokenBucket, 1, 1s});
  const Charge charge{key_of(1), &quota, 1};
  EXPECT_TRUE(spend(charge, instant_from_epoch_us(0)).allowed());
  EXPECT_TRUE(spend(charge, kStart + 100 * kWindowMax).allowed());
  EXPECT_FALSE(spend(charge, kStart + 200 * kWindowMax).allowed());
}

// In slots, and where five counts need more than a slot, a window decides as the algorithm does.
TEST_F(MemoryStoreTest, AStrictWindowIsNeverOver) {
  for (const std::int64_t limit : {200, 300}) {
    const Quota quota = quota_of({Algorithm::kStrictWindow, limit, 1min});
    ASSERT_EQ(Packing::fits(quota), limit == 200);
    const Charge charge{key_of(static_cast<std::uint64_t>(limit)), &quota, 7};
    algo::StrictWindowState state;
    std::deque<Instant> log;
    Instant now = kNow;
    for (int hit = 0; hit < 20'000; ++hit) {
      now += Duration{hit % 97 == 0 ? 31'000'000 : hit % 89 * 12'345};
      const auto step = algo::decide(quota, state, charge.cost, now);
      state = step.state;
      ASSERT_EQ(spend(charge, now), step.decision);
      if (step.decision.allowed()) log.push_back(now);
      while (!log.empty() && log.front() <= now - quota.window()) log.pop_front();
      ASSERT_LE(static_cast<std::int64_t>(log.size()) * charge.cost, limit);
    }
  }
}

TEST_F(MemoryStoreTest, KeysOfEveryAlgorithmExpireAndMakeRoom) {
  for (int algorithm = 0; algorithm <= static_cast<int>(Algorithm::kStrictWindow); ++algorithm) {
    store_ = make_memory_store({.max_keys = 1024, .max_wide_keys = 1024}, kStart);
    const Quota quota = quota_of({static_cast<Algorithm>(algorithm), 3, 1s});
    for (int round = 0; round < 50; ++round) {
      for (std::uint64_t key = 0; key < 900; ++key) {
        const auto id = static_cast<std::uint64_t>(round) * 1000 + key;
        ASSERT_TRUE(spend({key_of(id), &quota, 1}, kNow + round * 1min).allowed());
      }
    }
    EXPECT_EQ(store_->stats().evictions, 0u) << algorithm_name(quota.algorithm());
  }
}

}  // namespace
}  // namespace weir
