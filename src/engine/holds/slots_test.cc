// Slots of a HoldingStore, which bound the work under way.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "weir/holding_store.h"
#include "weir/limiter.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = instant_from_epoch_us(1'700'006'400'000'000);
constexpr KeyHash kKey{0x0123456789abcdef, 0x123456789abcdef0};
constexpr KeyHash kOther{0xfedcba9876543210, 0xedcba9876543210f};

struct StandingClock final : Clock {
  Instant now() const noexcept override { return kNow; }
};

class SlotsTest : public ::testing::Test {
 protected:
  HoldingStore::Acquired acquire(Instant now = kNow, Duration length = 30s) {
    return store_.acquire({.key = kKey, .quota = &quota_}, {.length = length}, now);
  }

  const Quota quota_ = *slot_quota(2);
  const std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kNow);
  HoldingStore store_{*memory_};
};

TEST_F(SlotsTest, OneThatNobodyReleasesEndsByItself) {
  const auto slot = acquire();
  acquire(kNow, 50s);
  const auto denied = acquire(kNow + 30s - 1us);
  EXPECT_FALSE(denied.token);
  EXPECT_EQ(denied.decision.retry_after, 1us) << "the earliest end";
  EXPECT_EQ(denied.decision.reset_after, 20s + 1us);
  EXPECT_TRUE(acquire(kNow + 30s).token);
  EXPECT_FALSE(store_.release(*slot.token, kNow + 30s));
  EXPECT_EQ(store_.size(), 2u);
}

TEST_F(SlotsTest, AFullNodeHoldsNoMore) {
  const Charge charge{.key = kOther, .quota = &quota_};
  EXPECT_TRUE(store_.acquire(charge, {.length = 30s, .room = 1}, kNow).token);
  const auto second = store_.acquire(charge, {.length = 30s, .room = 1}, kNow);
  EXPECT_TRUE(second.decision.allowed() && !second.token);
  const Quota none = *slot_quota(0);
  EXPECT_EQ(store_.acquire({.key = kKey, .quota = &none}, {.length = 30s}, kNow).decision.verdict,
            Verdict::kNever);
}

TEST_F(SlotsTest, LentOnesEndWithTheirLease) {
  const Charge charge{.key = kKey, .quota = &quota_};
  const auto lent = [&](Instant now, Instant lease_end) {
    return store_.acquire(charge, {.length = 30s, .lease_end = lease_end}, now);
  };
  const auto first = lent(kNow, kNow + 3s);
  const auto second = lent(kNow, kNow + 3s);
  EXPECT_TRUE(second.token);
  store_.renew(kKey, kNow + 5s, kNow + 2s);
  EXPECT_TRUE(store_.release(*first.token, kNow + 4s));
  EXPECT_EQ(store_.held(kKey, kNow + 5s - 1us).units, 1);
  EXPECT_FALSE(store_.release(*second.token, kNow + 5s));
  EXPECT_EQ(store_.size(), 0u);
  const auto third = lent(kNow + 5s, kNow + 6s);
  store_.renew(kKey, kNow + 9s, kNow + 6s);  // too late
  EXPECT_FALSE(store_.release(*third.token, kNow + 6s));
  lent(kNow + 6s, kNow + 7s);
  lent(kNow + 6s, kNow + 7s);
  EXPECT_FALSE(lent(kNow + 6s, kNow + 7s).token);
  EXPECT_TRUE(lent(kNow + 7s, kNow + 8s).token);
}

// At most the limit of slots is held at any time, and an attempt fails only if as many are held.
TEST_F(SlotsTest, HoldsNoMoreThanTheLimitFromManyThreads) {
  const Quota quota = *slot_quota(3);
  std::atomic<int> held{0};
  std::atomic<int> most{0};
  std::atomic<int> taken{0};
  const auto work = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5'000; ++i) {
      const Instant now = kNow + Duration(static_cast<std::int64_t>(random() % 20'000));
      const auto slot = store_.acquire({.key = kKey, .quota = &quota}, {.length = 1h}, now);
      if (!slot.token) continue;
      ++taken;
      const int count = ++held;
      for (int seen = most; seen < count && !most.compare_exchange_weak(seen, count);) continue;
      if (random() % 2 == 0) std::this_thread::yield();
      --held;
      ASSERT_TRUE(store_.release(*slot.token, now));
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_GE(taken, 5'000);
  EXPECT_EQ(store_.size(), 0u);
}

TEST_F(SlotsTest, ALimiterReleasesWhatGoesOutOfScope) {
  const StandingClock clock;
  const Limiter limiter(store_, clock, {.limit = 2}, HashSecret{});
  {
    auto first = limiter.acquire(store_, "b", "k", 30s);
    auto second = limiter.acquire(store_, "b", "k", 30s);
    ASSERT_TRUE(first && first->allowed() && second && second->allowed());
    EXPECT_EQ(second->decision().remaining, 0);
    EXPECT_FALSE(limiter.acquire(store_, "b", "k", 30s)->allowed());
    EXPECT_TRUE(limiter.acquire(store_, "other", "k", 30s)->allowed());
    EXPECT_TRUE(limiter.acquire(store_, "b", "k", 30s, {.limit = 3})->allowed());
    EXPECT_TRUE(first->release());
    EXPECT_FALSE(first->release());
    const Slot moved = std::move(*second);
    EXPECT_EQ(store_.size(), 1u);
  }
  EXPECT_EQ(store_.size(), 0u);
  EXPECT_EQ(limiter.acquire(store_, "b", "k", 30s, {.limit = -1}).error().field, "limit");
}

}  // namespace
}  // namespace weir
