#include "observe/keys/key_report.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace weir {
namespace {

TEST(KeyReport, AddsUpWithWhatIsNotKnown) {
  KeyReport sum{.total = 100, .rest = 4, .keys = {{1, 40, 44, ""}, {3, 7, 7, "c"}}};
  sum.add({.total = 50, .rest = 1, .weight = 8, .keys = {{1, 5, 6, "a"}, {2, 20, 20, "b"}}});
  EXPECT_EQ(sum, (KeyReport{.total = 150,
                            .rest = 5,
                            .weight = 8,
                            .keys = {{1, 45, 50, "a"}, {2, 20, 24, "b"}, {3, 7, 8, "c"}}}));
  sum.add({});
  EXPECT_EQ(sum.keys.size(), 3u);
  KeyReport nothing;
  nothing.add(sum);
  EXPECT_EQ(nothing, sum);
}

TEST(KeyReport, WhatIsCutMayHaveComeAsOftenAsItSaid) {
  KeyReport report{.total = 100, .rest = 2, .keys = {{1, 9, 9}, {2, 1, 30}, {3, 8, 9}, {4, 9, 10}}};
  report.keep_busiest(2);
  EXPECT_EQ(report, (KeyReport{.total = 100, .rest = 30, .keys = {{1, 9, 9}, {4, 9, 10}}}));
  report.keep_busiest(2);
  EXPECT_EQ(report.rest, 30u);
  EXPECT_EQ(report.ranked(2).front().hash, 4u);
  EXPECT_EQ(report.ranked(1).size(), 1u);
  EXPECT_TRUE(report.ranked(0).empty());
}

TEST(KeyReport, WithoutSamplingBoundsAreCounts) {
  EXPECT_EQ(least_of(17, 1), 17u);
  EXPECT_EQ(most_of(17, 1), 17u);
}

// Draws each of `truth` requests with a chance of 1 / weight, many times.
TEST(KeyReport, BoundsHoldInNinetyNineOfAHundredCases) {
  Prng random(1);
  for (const std::uint32_t weight : {2u, 16u, 256u}) {
    for (const int truth : {10, 300, 5'000}) {
      int below = 0;
      int above = 0;
      for (int i = 0; i < 1'000; ++i) {
        std::uint64_t count = 0;
        for (int request = 0; request < truth; ++request) {
          count += random.below(weight) == 0 ? weight : 0;
        }
        below += least_of(count, weight) > static_cast<std::uint64_t>(truth);
        above += most_of(count, weight) < static_cast<std::uint64_t>(truth);
      }
      EXPECT_LE(below, 20) << weight << " " << truth;
      EXPECT_LE(above, 20) << weight << " " << truth;
    }
  }
}

TEST(KeyReport, BoundsAreNotFarOff) {
  EXPECT_GT(least_of(100'000, 256), 80'000u);
  EXPECT_LT(most_of(100'000, 256), 120'000u);
  EXPECT_EQ(least_of(0, 256), 0u);
}

}  // namespace
}  // namespace weir
