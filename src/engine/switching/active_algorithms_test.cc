#include "engine/switching/active_algorithms.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>

namespace weir {
namespace {

constexpr RuleNumber kLast = RuleCounts::kRulesMax - 1;

TEST(ActiveAlgorithms, ARuleThatHasNeverSwitchedIsASlidingWindow) {
  const ActiveAlgorithms active;
  for (const RuleNumber rule : {RuleNumber{0}, kLast, kNoRuleNumber}) {
    EXPECT_EQ(active.of(rule), ActiveAlgorithm());
  }
  EXPECT_EQ(ActiveAlgorithm().algorithm, Algorithm::kSlidingWindow);
}

TEST(ActiveAlgorithms, EachRuleSwitchesAlone) {
  ActiveAlgorithms active;
  const ActiveAlgorithm bucket{Algorithm::kTokenBucket, 1};
  const ActiveAlgorithm backoff{Algorithm::kExponentialBackoff,
                                std::numeric_limits<std::uint32_t>::max()};
  const ActiveAlgorithm window{Algorithm::kSlidingWindow, 7};
  active.set(0, bucket);
  active.set(kLast, backoff);
  active.set(kNoRuleNumber, window);
  EXPECT_EQ(active.of(0), bucket);
  EXPECT_EQ(active.of(1), ActiveAlgorithm());
  EXPECT_EQ(active.of(kLast), backoff);
  EXPECT_EQ(active.of(kNoRuleNumber), window);
}

// A core never sees the algorithm of one switch with the number of another.
TEST(ActiveAlgorithms, ASwitchIsSeenAsAWhole) {
  ActiveAlgorithms active;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint32_t number = 1; number <= 10'000; ++number) {
      active.set(3,
                 {number % 2 == 0 ? Algorithm::kSlidingWindow : Algorithm::kTokenBucket, number});
    }
    done = true;
  });
  bool whole = true;
  while (!done) {
    const ActiveAlgorithm seen = active.of(3);
    const bool is_window = seen.algorithm == Algorithm::kSlidingWindow;
    whole = whole && is_window == (seen.number % 2 == 0);
  }
  writer.join();
  EXPECT_TRUE(whole);
  EXPECT_EQ(active.of(3).number, 10'000u);
}

}  // namespace
}  // namespace weir
