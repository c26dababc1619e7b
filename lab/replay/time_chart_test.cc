#include "replay/time_chart.h"

#include <gtest/gtest.h>

#include <numeric>

namespace weir::lab {
namespace {

constexpr Instant kBegin = instant_from_epoch_us(1'700'000'000'000'000);

TEST(TimeChart, DoublesItsStepAndLosesNothing) {
  TimeChart chart(2, kBegin);
  for (int second = 0; second < 1000; ++second) {
    chart.add(0, kBegin + std::chrono::seconds(second));
  }
  chart.add(1, kBegin + std::chrono::seconds(500));
  EXPECT_EQ(chart.step(), std::chrono::seconds(16));
  EXPECT_EQ(chart.used(), 63U);
  const auto& counts = chart.counts(0);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 1000U);
  EXPECT_EQ(counts[0], 16U);
  EXPECT_EQ(chart.counts(1)[31], 1U);
}

TEST(TimeChart, TakesYears) {
  TimeChart chart(1, kBegin);
  chart.add(0, kBegin);
  chart.add(0, kBegin + std::chrono::hours(24 * 365 * 8));
  EXPECT_EQ(chart.counts(0)[0], 1U);
  EXPECT_EQ(chart.counts(0)[chart.used() - 1], 1U);
}

}  // namespace
}  // namespace weir::lab
