// An attacker's flood: a hundred million keys nobody has seen before, against one key
// that is blocked and one that is over its limit.

#include <gtest/gtest.h>

#include "store/memory/memory_testing.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kFloodKeys = 2'000'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kFloodKeys = 2'000'000;
#else
constexpr std::uint64_t kFloodKeys = 100'000'000;
#endif
#else
constexpr std::uint64_t kFloodKeys = 100'000'000;
#endif

Decision spend(Store& store, const Charge& charge, Instant now) {
  Decision decision;
  Batch batch{.charges = {&charge, 1}, .decisions = {&decision, 1}};
  batch.on_done = [](Batch&) noexcept {};
  store.decide(batch, now);
  return decision;
}

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
  // Ten seconds of flood, as the clock sees it: none of it has expired at the end.
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

}  // namespace
}  // namespace weir
