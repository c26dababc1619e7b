#include "observe/latency_counts.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

LatencyFigures figures_of(std::initializer_list<Duration> all) {
  LatencyCounts counts;
  for (const Duration one : all) counts.record(one);
  LatencyFigures figures;
  counts.add_to(figures);
  return figures;
}

TEST(LatencyCounts, AQuantileIsTheBoundOfItsClass) {
  EXPECT_EQ(figures_of({1us}).quantile(0.5), 1us);
  EXPECT_EQ(figures_of({2us}).quantile(0.5), 2us);
  EXPECT_EQ(figures_of({3us}).quantile(0.5), 4us);
  EXPECT_EQ(figures_of({4us}).quantile(0.5), 4us);
  EXPECT_EQ(figures_of({5us}).quantile(0.5), 8us);
  EXPECT_EQ(figures_of({1ms}).quantile(0.5), 1024us);
}

TEST(LatencyCounts, AQuantileCountsFromTheFastest) {
  const auto figures = figures_of({1us, 1us, 1us, 100us});
  EXPECT_EQ(figures.total(), 4u);
  EXPECT_EQ(figures.quantile(0.5), 1us);
  EXPECT_EQ(figures.quantile(0.75), 1us);
  EXPECT_EQ(figures.quantile(0.76), 128us);
  EXPECT_EQ(figures.quantile(1), 128us);
}

TEST(LatencyCounts, HaveNoQuantileOfNothing) { EXPECT_EQ(figures_of({}).quantile(0.99), 0us); }

TEST(LatencyCounts, TakeWhatNoClockShouldSay) {
  EXPECT_EQ(figures_of({0us}).quantile(1), 1us);
  EXPECT_EQ(figures_of({-1s}).quantile(1), 1us);
  EXPECT_EQ(figures_of({Duration::max()}).quantile(1), Duration(1 << 19));
}

}  // namespace
}  // namespace weir
