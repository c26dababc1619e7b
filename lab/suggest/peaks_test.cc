#include "suggest/peaks.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/testing/asked.h"
#include "weir/key.h"
#include "weir/memory_store.h"

namespace weir::lab {
namespace {

constexpr Instant kStart = instant_from_epoch_us(1'700'000'040'000'000);

TEST(Peaks, CountWhatStillOverlaps) {
  Peaks peaks;
  for (int i = 0; i < 10; ++i) peaks.count(kStart);
  peaks.count(kStart + std::chrono::seconds(90));  // half of the minute before
  EXPECT_EQ(peaks.of(2), 10U);
  for (int i = 0; i < 9; ++i) peaks.count(kStart + std::chrono::seconds(90));
  EXPECT_EQ(peaks.of(2), 15U);
  EXPECT_EQ(peaks.of(0), 10U);
  EXPECT_EQ(peaks.of(3), 20U);
}

// A limit at the peak denies nothing, for each window.
TEST(Peaks, AreLimitsThatDenyNobody) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 dice(seed);
    std::vector<Instant> times = {kStart};
    for (int i = 0; i < 400; ++i) {
      times.push_back(times.back() +
                      std::chrono::milliseconds(dice() % 4 == 0 ? dice() % 30'000 : 9));
    }
    Peaks peaks;
    for (const Instant time : times) peaks.count(time);
    for (std::size_t i = 0; i < kWindows.size(); ++i) {
      const auto quota = Quota::make(
          {.algorithm = Algorithm::kSlidingWindow, .limit = peaks.of(i), .window = kWindows[i]});
      const auto store = make_memory_store({.max_keys = 1024}, kStart);
      for (const Instant time : times) {
        EXPECT_TRUE(
            testing::spend(*store, {.key = {1, 2}, .quota = &*quota, .cost = 1}, time).allowed());
      }
    }
  }
}

}  // namespace
}  // namespace weir::lab
