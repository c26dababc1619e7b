#include "base/atomic128.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir {
namespace {

Uint128 both(std::uint64_t high, std::uint64_t low) { return (Uint128{high} << 64) | low; }

TEST(Atomic128, ExchangesOnlyWhatIsExpected) {
  Atomic128 word;
  EXPECT_TRUE(word.load() == 0);
  EXPECT_FALSE(word.compare_exchange(both(0, 1), both(2, 3)));
  EXPECT_TRUE(word.compare_exchange(0, both(2, 3)));
  EXPECT_TRUE(word.load() == both(2, 3));
  EXPECT_EQ(word.load_high(), 2u);
}

// Both halves are always written equal, so a torn load would show.
TEST(Atomic128, LoadsAreNeverTorn) {
  constexpr std::uint64_t kSteps = 200'000;
  Atomic128 word;
  std::thread writer([&] {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      ASSERT_TRUE(word.compare_exchange(both(step, step), both(step + 1, step + 1)));
    }
  });
  std::uint64_t seen = 0;
  while (seen < kSteps) {
    const Uint128 value = word.load();
    const auto high = static_cast<std::uint64_t>(value >> 64);
    const auto low = static_cast<std::uint64_t>(value);
    ASSERT_EQ(high, low);
    ASSERT_GE(high, seen);
    seen = high;
  }
  writer.join();
}

TEST(Atomic128, EveryExchangeCountsOnce) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kAdds = 20'000;
  Atomic128 word;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t add = 0; add < kAdds; ++add) {
        Uint128 value = word.load();
        while (!word.compare_exchange(value, value + both(1, 1))) value = word.load();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(word.load() == both(kThreads * kAdds, kThreads * kAdds));
}

}  // namespace
}  // namespace weir
