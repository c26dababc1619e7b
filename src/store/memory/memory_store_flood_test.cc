// An attacker's floods: ten million new keys, and floods of keys that are driven over their limits,
// against keys that are over theirs.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/asked.h"
#include "store/memory/memory_testing.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::spend;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kFloodKeys = 2'000'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kFloodKeys = 2'000'000;
#else
constexpr std::uint64_t kFloodKeys = 10'000'000;
#endif
#else
constexpr std::uint64_t kFloodKeys = 10'000'000;
#endif

TEST(MemoryStoreFlood, FreesNoKeyThatIsBlockedOrOverItsLimit) {
  const auto store = make_memory_store({.max_keys = 1 << 16}, kStart);
  const std::uint64_t bytes_before = store->stats().bytes;
  const Quota flooded = quota_of({Algorithm::kTokenBucket, 5, 1h});
  const Quota backoff = quota_of({Algorithm::kExponentialBackoff, 1, 1h});
  const Charge over{{1, 2}, &flooded, 5};
  const Charge blocked{{3, 4}, &backoff, 1};
  spend(*store, over, kNow);
  ASSERT_FALSE(spend(*store, over, kNow).allowed());
  while (spend(*store, blocked, kNow).backoff_level < 5) {
  }
  // A second of flood by the clock: none of it has expired at the end.
  for (std::uint64_t key = 0; key < kFloodKeys; ++key) {
    const Instant now = kNow + Duration{static_cast<std::int64_t>(key / 10)};
    ASSERT_TRUE(spend(*store, {key_of(key), &flooded, 1}, now).allowed());
    if (key % (kFloodKeys / 100) == 0) {
      ASSERT_FALSE(spend(*store, over, now).allowed()) << "after " << key << " keys";
      ASSERT_FALSE(spend(*store, blocked, now).allowed()) << "after " << key << " keys";
    }
  }
  EXPECT_EQ(store->stats().bytes, bytes_before);
  EXPECT_GT(store->stats().evictions, kFloodKeys * 9 / 10);
}

// A table of 16,384 keys, in which some victims have spent their limits before a flood begins.
class FloodOfDeniedKeys : public ::testing::TestWithParam<Algorithm> {
 protected:
  static constexpr std::uint64_t kMaxKeys = 1 << 14;
  static constexpr std::uint64_t kVictims = 200;
  static constexpr std::uint64_t kFirstOfFlood = 1'000'000;

  Decision spend_one(std::uint64_t key) { return spend(*store_, {key_of(key), &quota_, 1}, now_); }
  Decision spend_of_flood(std::uint64_t key) {
    return spend(*store_, {key_of(kFirstOfFlood + key), &flooded_, 1}, now_);
  }

  // Drives `keys` keys over their limit, each by three requests.
  void flood(std::uint64_t keys) {
    for (std::uint64_t key = 0; key < keys; ++key) {
      for (int request = 0; request < 3; ++request) spend_of_flood(key);
      now_ += 10us;
    }
  }

  std::uint64_t freed_victims() {
    std::uint64_t freed = 0;
    for (std::uint64_t key = 0; key < kVictims; ++key) freed += spend_one(key).allowed() ? 1 : 0;
    return freed;
  }

  const Quota quota_ = quota_of({GetParam(), 2, 1h});
  const Quota flooded_ = quota_of({GetParam(), 2, 6h});  // expires later than any victim
  std::unique_ptr<MemoryStore> store_ =
      make_memory_store({.max_keys = kMaxKeys, .max_wide_keys = kMaxKeys}, kStart);
  Instant now_ = kNow;
};

// A client that stops just before a denial gains nothing.
TEST_P(FloodOfDeniedKeys, FreesNoKeyThatWasDeniedOrHadNothingLeft) {
  for (std::uint64_t key = 0; key < kVictims; ++key) {
    for (std::uint64_t request = 0; request < 2 + key % 2; ++request) spend_one(key);
  }
  flood(20 * kMaxKeys);
  EXPECT_EQ(freed_victims(), 0u);
}

// All or nothing, with a cost that leaves something when it is denied, as in a rule with two
// limits.
TEST_P(FloodOfDeniedKeys, FreesNoKeyThatWasDeniedTogetherWithAnother) {
  const Quota three = quota_of({GetParam(), 3, 1h});
  const Quota many = quota_of({Algorithm::kFixedWindow, 1'000, 24h});
  const auto spend_both = [&](std::uint64_t key) {
    return ask(*store_, Operation::kSpendAll,
               {Charge{key_of(key), &three, 2}, Charge{key_of(~key), &many, 1}}, now_)[0];
  };
  for (std::uint64_t key = 0; key < kVictims; ++key) {
    ASSERT_TRUE(spend_both(key).allowed());
    ASSERT_EQ(spend_both(key).remaining, 1);
  }
  flood(20 * kMaxKeys);
  std::uint64_t freed = 0;
  for (std::uint64_t key = 0; key < kVictims; ++key) freed += spend_both(key).allowed() ? 1 : 0;
  EXPECT_EQ(freed, 0u);
}

TEST_P(FloodOfDeniedKeys, LeavesRoomToCountStrangers) {
  flood(20 * kMaxKeys);
  for (std::uint64_t key = 0; key < 100; ++key) {
    EXPECT_EQ(spend_one(key).remaining, 1);
    EXPECT_EQ(spend_one(key).remaining, 0);
    EXPECT_FALSE(spend_one(key).allowed()) << key;
  }
}

// A tenth of max_keys are over their limits, among as many other keys as fit.
TEST_P(FloodOfDeniedKeys, FreesNobodyOfATenthOfAllKeys) {
  for (std::uint64_t key = 0; key < kMaxKeys; ++key) {
    for (int request = 0; request < (key % 10 == 0 ? 3 : 1); ++request) spend_one(key);
  }
  ASSERT_EQ(store_->stats().evictions, 0u);
  flood(10 * kMaxKeys);
  std::uint64_t freed = 0;
  for (std::uint64_t key = 0; key < kMaxKeys; key += 10) freed += spend_one(key).allowed() ? 1 : 0;
  EXPECT_EQ(freed, 0u);
}

// Expired keys do not keep protected places.
TEST_P(FloodOfDeniedKeys, FreesNobodyAfterAFormerFlood) {
  flood(2 * kMaxKeys);
  now_ += 48h;
  for (std::uint64_t key = 0; key < kVictims; ++key) {
    for (int request = 0; request < 3; ++request) spend_one(key);
  }
  flood(20 * kMaxKeys);  // the former keys again, and others
  EXPECT_EQ(freed_victims(), 0u);
}

TEST_P(FloodOfDeniedKeys, IsCountedWhenItFreesKeys) {
  EXPECT_EQ(store_->stats().freed, 0u);
  flood(20 * kMaxKeys);
  EXPECT_GT(store_->stats().freed, 0u);
  EXPECT_LE(store_->stats().freed, store_->stats().evictions);
  EXPECT_EQ(store_->stats().refused, 0u);
}

// If the rule says so, new keys are denied and no key is forgotten.
TEST_P(FloodOfDeniedKeys, FreesNobodyAtAllWhereStrangersAreDenied) {
  std::uint64_t denied_at_once = 0;
  std::vector<std::uint64_t> over;
  for (std::uint64_t key = 0; key < 10 * kMaxKeys; ++key) {
    const Charge all{.key = key_of(key), .quota = &quota_, .cost = 2, .on_full = OnFull::kDeny};
    const Decision decision = spend(*store_, all, now_);
    if (decision.allowed()) {
      over.push_back(key);
    } else {
      EXPECT_TRUE(decision.is_store_full);
      ++denied_at_once;
    }
  }
  EXPECT_EQ(store_->stats().refused, denied_at_once);
  EXPECT_EQ(store_->stats().freed, 0u);
  EXPECT_GT(over.size(), kMaxKeys);
  for (const std::uint64_t key : over) {
    const Decision decision = spend_one(key);
    ASSERT_FALSE(decision.allowed()) << key;
    ASSERT_FALSE(decision.is_store_full) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(, FloodOfDeniedKeys,
                         ::testing::Values(Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                           Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                           Algorithm::kExponentialBackoff, Algorithm::kAdaptive,
                                           Algorithm::kStrictWindow),
                         [](const auto& tested) { return test_name(tested.param); });

}  // namespace
}  // namespace weir
