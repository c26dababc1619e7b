// 64 and 128 bits give the same quotients, also at the border between them.

#include "algo/wide_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "algo/epoch_window.h"
#include "weir/quota.h"

namespace weir::algo {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(WideMath, CeilDivRoundsUp) {
  EXPECT_EQ(ceil_div<std::int64_t>(0, 3), 0);
  EXPECT_EQ(ceil_div<std::int64_t>(1, 3), 1);
  EXPECT_EQ(ceil_div<std::int64_t>(3, 3), 1);
  EXPECT_EQ(ceil_div<std::int64_t>(kMax, 2), kMax / 2 + 1) << "no overflow on the way";
}

TEST(WideMath, MulDivIsExactBeyond64Bits) {
  const std::int64_t window_us = kWindowMax.count();
  EXPECT_EQ(mul_div_floor(kLimitMax, window_us, window_us), kLimitMax);
  EXPECT_EQ(mul_div_ceil(kLimitMax, window_us, window_us), kLimitMax);
  EXPECT_EQ(mul_div_floor(kLimitMax, window_us - 1, window_us), kLimitMax - 1);
  EXPECT_EQ(mul_div_ceil(kLimitMax, window_us - 1, window_us), kLimitMax);
  EXPECT_EQ(mul_div_ceil(kLimitMax, 1, window_us), 1);
  EXPECT_EQ(mul_div_floor(kLimitMax, 1, window_us), 0);
}

TEST(WideMath, BothWidthsAgreeAtTheBorder) {
  // value * factor on both sides of 2^63.
  for (std::int64_t value = 3'037'000'490; value < 3'037'000'510; ++value) {
    for (std::int64_t factor = 3'037'000'490; factor < 3'037'000'510; ++factor) {
      const Int128 product = Int128{value} * factor;
      const std::int64_t divisor = 1'000'003;
      EXPECT_EQ(mul_div_floor(value, factor, divisor), product / divisor);
      EXPECT_EQ(mul_div_ceil(value, factor, divisor), (product + divisor - 1) / divisor);
    }
  }
}

TEST(EpochWindow, AgeIsWhatDivisionSays) {
  const std::int64_t window_us = 10;
  const auto age_of = [](std::int64_t later) {
    if (later < -1) return WindowAge::kFuture;
    if (later == -1) return WindowAge::kAhead;
    if (later == 0) return WindowAge::kCurrent;
    return later == 1 ? WindowAge::kPrevious : WindowAge::kOld;
  };
  for (std::int64_t now_us = 0; now_us < 90; ++now_us) {
    for (std::int64_t start_us = 0; start_us < 90; start_us += window_us) {
      const std::int64_t later = (window_start(window_us, now_us) - start_us) / window_us;
      EXPECT_EQ(window_age(start_us, window_us, now_us), age_of(later))
          << now_us << " " << start_us;
    }
  }
}

TEST(EpochWindow, StartIsTheMultipleBelow) {
  EXPECT_EQ(window_start(10, 0), 0);
  EXPECT_EQ(window_start(10, 9), 0);
  EXPECT_EQ(window_start(10, 10), 10);
}

}  // namespace
}  // namespace weir::algo
