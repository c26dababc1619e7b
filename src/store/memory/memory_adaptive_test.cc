// Adaptive keys in the memory store decide as the pure functions do. They are in the half that
// their quota names, whatever is active.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "algo/adaptive.h"
#include "engine/testing/asked.h"
#include "store/memory/memory_testing.h"
#include "store/memory/packing.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::spend;

constexpr std::array kActive = {Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                Algorithm::kExponentialBackoff};

// Small counts live in the compact table, large ones in the wide store.
const Quota kCompact = quota_of({Algorithm::kAdaptive, 20, 1min});
const Quota kWide = quota_of({Algorithm::kAdaptive, 1'000'003, 1min});

RC_GTEST_PROP(MemoryAdaptive, TheStoreDecidesAsThePureFunctionsDo, ()) {
  const Quota base = *rc::gen::element(kCompact, kWide);
  RC_ASSERT(Packing::fits(base) == (base.limit() == 20));
  const auto store = make_memory_store({.max_keys = 1024}, kStart);
  algo::AdaptiveState state;
  Quota quota = base;
  Instant now = kNow;
  for (int move = *rc::gen::inRange(0, 60); move > 0; --move) {
    now += Duration{*rc::gen::inRange<std::int64_t>(0, 20'000'000)};
    if (*rc::gen::inRange(0, 4) == 0) {
      quota = quota.following({*rc::gen::elementOf(kActive), 0});
    }
    const std::int64_t cost = base.limit() / 20 * *rc::gen::inRange<std::int64_t>(-2, 22);
    const int repeat = *rc::gen::inRange(1, 13);
    for (int i = 0; i < repeat; ++i) {
      const bool always = *rc::gen::inRange(0, 3) == 0;
      const auto step =
          always ? algo::charge(quota, state, cost, now) : algo::decide(quota, state, cost, now);
      const auto operation = always ? Operation::kCharge : Operation::kSpendEach;
      state = step.state;
      RC_ASSERT(ask(*store, operation, Charge{key_of(1), &quota, cost}, now) == step.decision);
    }
  }
}

// A request of two charges, one of which is denied: backoff counts a denial for that one.
TEST(MemoryAdaptive, ADenialOfAllOrNothingCountsUnderBackoff) {
  for (const Quota& base : {kCompact, kWide}) {
    const auto store = make_memory_store({.max_keys = 1024}, kStart);
    const Quota backoff = base.following({Algorithm::kExponentialBackoff, 1});
    const Quota other = quota_of({Algorithm::kFixedWindow, 100, 1min});
    const std::vector<Charge> both = {{key_of(1), &backoff, base.limit()}, {key_of(2), &other, 1}};
    EXPECT_TRUE(ask(*store, Operation::kSpendAll, both, kNow)[0].allowed());
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(ask(*store, Operation::kSpendAll, both, kNow)[0].allowed());
    }
    const auto looked = ask(*store, Operation::kLook, both, kNow);
    EXPECT_EQ(looked[0].backoff_level, 1);
    EXPECT_EQ(looked[1].remaining, 99);
    // The other algorithms count no denials.
    const Quota bucket = base.following({Algorithm::kTokenBucket, 2});
    const std::vector<Charge> later = {{key_of(1), &bucket, base.limit()}, {key_of(2), &other, 1}};
    for (int i = 0; i < 10; ++i) ask(*store, Operation::kSpendAll, later, kNow);
    EXPECT_EQ(ask(*store, Operation::kLook, later, kNow)[0].backoff_level, 0);
  }
}

// Threads decide while another thread switches to and fro. At no moment do they admit more than the
// limit, and in no sliding window more than twice the limit. Time passes when no thread decides: a
// thread that waits inside the store decides by an earlier time (memory_store.cc).
TEST(MemoryAdaptive, ThreadsAdmitNoMoreThanTheBoundWhileItSwitches) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  constexpr std::int64_t kLimit = 1'000;
  for (const Duration passes : {0ms, 1'000ms}) {
    const Quota base = quota_of({Algorithm::kAdaptive, kLimit, 1s});
    const auto store = make_memory_store({.max_keys = 1024}, kStart);
    Instant now = kNow + 500ms;
    std::barrier round(kThreads, [&]() noexcept { now += passes / kRounds; });
    std::atomic<std::uint32_t> switches{0};
    std::atomic<std::int64_t> admitted{0};
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int hit = 0; hit < 10'000; ++hit) {
          if (hit % (10'000 / kRounds) == 0) round.arrive_and_wait();
          const std::uint32_t number = switches.load();
          const Quota quota = base.following({kActive[number % 3], number});
          const Charge one{key_of(1), &quota, 1};
          if (spend(*store, one, now).allowed()) ++admitted;
        }
        --running;
      });
    }
    while (running > 0) switches.fetch_add(1);
    for (auto& thread : threads) thread.join();
    EXPECT_LE(admitted.load(), kLimit + kLimit * passes / Duration{1s});
    EXPECT_GT(admitted.load(), 0);
  }
}

}  // namespace
}  // namespace weir
