#include "load/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/prng.h"

namespace weir::load {
namespace {

using namespace std::chrono_literals;

Histogram histogram_of(const std::vector<Nanoseconds>& times) {
  Histogram histogram;
  for (const Nanoseconds time : times) histogram.record(time);
  return histogram;
}

TEST(Histogram, EmptyIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.at(0.5), 0ns);
  EXPECT_EQ(histogram.max(), 0ns);
}

TEST(Histogram, SmallTimesAreExact) {
  for (int ns = 0; ns < 256; ++ns) {
    EXPECT_EQ(histogram_of({Nanoseconds{ns}, 1h}).at(0.5), Nanoseconds{ns});
  }
}

// Each power of two and its neighbours: an index that is off by one would show there.
TEST(Histogram, NeverBelowAndWithinOnePercent) {
  for (int bit = 0; bit < 42; ++bit) {
    for (const std::int64_t offset : {-1, 0, 1}) {
      const Nanoseconds time{(std::int64_t{1} << bit) + offset};
      // The longer one keeps max() from hiding the bucket's width.
      const Nanoseconds reported = histogram_of({time, Histogram::kMax}).at(0.5);
      EXPECT_GE(reported, time);
      EXPECT_LE(static_cast<double>((reported - time).count()),
                static_cast<double>(time.count()) / 128);
    }
  }
}

TEST(Histogram, OutOfRangeIsBounded) {
  const Histogram histogram = histogram_of({-5ns, 24h});
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_EQ(histogram.at(0.5), 0ns);
  EXPECT_EQ(histogram.max(), Histogram::kMax);
}

TEST(Histogram, MaxIsExact) {
  const Histogram histogram = histogram_of({1ms, 123'456'789ns});
  EXPECT_EQ(histogram.max(), 123'456'789ns);
  EXPECT_EQ(histogram.at(1), 123'456'789ns);
  EXPECT_EQ(histogram.at(0.999), 123'456'789ns);
}

TEST(Histogram, MatchesSortedTimes) {
  Prng prng(11);
  std::vector<Nanoseconds> times(100'000);
  for (Nanoseconds& time : times) {  // spread over six decades
    time = Nanoseconds{static_cast<std::int64_t>(std::exp(prng.unit() * 14) * 100)};
  }
  const Histogram histogram = histogram_of(times);
  std::sort(times.begin(), times.end());
  for (const double quantile : {0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(quantile * 100'000)) - 1;
    const auto exact = static_cast<double>(times[rank].count());
    const auto reported = static_cast<double>(histogram.at(quantile).count());
    EXPECT_GE(reported, exact);
    EXPECT_LE(reported, exact * 1.008);
  }
}

TEST(Histogram, MergeIsLikeRecordingAll) {
  Histogram merged = histogram_of({1us, 2us, 3us});
  merged.merge(histogram_of({4us, 5ms}));
  const Histogram all = histogram_of({1us, 2us, 3us, 4us, 5ms});
  EXPECT_EQ(merged.count(), all.count());
  EXPECT_EQ(merged.max(), all.max());
  for (const double quantile : {0.2, 0.4, 0.6, 0.8, 1.0}) {
    EXPECT_EQ(merged.at(quantile), all.at(quantile));
  }
}

}  // namespace
}  // namespace weir::load
