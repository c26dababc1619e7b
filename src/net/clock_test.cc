// libweir takes two things from the machine: its time and its randomness.

#include "weir/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "weir/key.h"

namespace weir {
namespace {

Instant wall_clock() {
  return Instant{std::chrono::floor<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

TEST(SystemClock, TellsTheWallClocksTime) {
  // Several clocks: unless the date is set between the three readings, one fits.
  const bool fits = std::ranges::any_of(std::array{1, 2, 3}, [](int) {
    const auto before = wall_clock();
    const auto now = SystemClock().now();
    return before - Duration{1} <= now && now <= wall_clock() + Duration{1};
  });
  EXPECT_TRUE(fits);
}

TEST(SystemClock, NeverGoesBack) {
  const SystemClock clock;
  auto last = clock.now();
  for (int i = 0; i < 3'000'000; ++i) {
    const auto now = clock.now();
    ASSERT_LE(last, now);
    last = now;
  }
}

TEST(SystemClock, IsOneTimeForAllThreads) {
  constexpr int kThreads = 4;
  const SystemClock clock;
  std::atomic<std::int64_t> latest_us{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50'000; ++i) {
        // Cores may read their counters a little apart; a microsecond is a lot for that.
        const auto seen_us = latest_us.load();
        const auto now_us = epoch_us(clock.now());
        ASSERT_GE(now_us, seen_us - 2);
        auto known_us = latest_us.load();
        while (known_us < now_us && !latest_us.compare_exchange_weak(known_us, now_us)) {
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

// Over a few anchors and measured rates it stays with the kernel's clock, however long
// this thread is kept waiting in between.
TEST(SystemClock, StaysWithTheMonotonicClock) {
  const auto monotonic_us = [] {
    return std::chrono::floor<Duration>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  const SystemClock clock;
  std::int64_t start_us = 0;
  std::int64_t offset_us = 0;
  do {  // until nothing keeps the thread between the two readings
    start_us = monotonic_us();
    offset_us = epoch_us(clock.now()) - start_us;
  } while (monotonic_us() - start_us > 2);
  std::int64_t before_us = start_us;
  while (before_us < start_us + 200'000) {
    before_us = monotonic_us();
    const std::int64_t clock_us = epoch_us(clock.now()) - offset_us;
    ASSERT_GE(clock_us, before_us - 5);
    ASSERT_LE(clock_us, monotonic_us() + 5);
  }
}

TEST(HashSecret, IsDifferentEachTimeAndFilledToItsEnd) {
  const auto one = HashSecret::random();
  const auto other = HashSecret::random();
  EXPECT_NE(one.bytes, other.bytes);
  // 64 zero bytes in a row come by chance once in 2^512 times.
  EXPECT_TRUE(std::any_of(one.bytes.end() - 64, one.bytes.end(),
                          [](std::byte byte) { return byte != std::byte{0}; }));
}

}  // namespace
}  // namespace weir
