#include "observe/detailed_counts.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using enum DetailedCounts::Outcome;

TEST(DetailedCounts, CountsByRuleAndValues) {
  DetailedCounts counts;
  counts.record("b", "x\n\xff", kWithinLimit);
  counts.record("a", "x", kWithinLimit);
  counts.record("a", "x", kOverLimit);
  counts.record("a", "y", kOverLimit);
  const auto all = counts.all();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].rule + all[0].values, "ax");
  EXPECT_EQ(all[0].within_limit, 1u);
  EXPECT_EQ(all[0].over_limit, 1u);
  EXPECT_EQ(all[1].over_limit, 1u);
  EXPECT_EQ(all[2].rule + all[2].values, "bx??");
}

TEST(DetailedCounts, ManyValuesAreCountedAsOthers) {
  DetailedCounts counts;
  for (std::size_t i = 0; i < DetailedCounts::kSeriesMax + 500; ++i) {
    counts.record("a", std::to_string(i), kWithinLimit);
  }
  counts.record("a", "0", kWithinLimit);
  counts.record("a", std::string(10'000, 'x'), kOverLimit);
  const auto all = counts.all();
  EXPECT_EQ(all.size(), DetailedCounts::kSeriesMax + 1);
  EXPECT_EQ(all[0].values, DetailedCounts::kOthers);
  EXPECT_EQ(all[0].within_limit, 500u);
  EXPECT_EQ(all[0].over_limit, 1u);
  EXPECT_EQ(all[1].within_limit, 2u);
}

}  // namespace
}  // namespace weir
