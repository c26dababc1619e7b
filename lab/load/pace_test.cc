#include "load/pace.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace weir::load {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{12'345s};

TEST(Pace, FirstAtOnceThenOneAnInterval) {
  const Pace pace(1'000, kStart);
  EXPECT_EQ(pace.due(kStart - 1ns), 0U);
  EXPECT_EQ(pace.due(kStart), 1U);
  EXPECT_EQ(pace.due(kStart + 999'999ns), 1U);
  EXPECT_EQ(pace.due(kStart + 1ms), 2U);
  EXPECT_EQ(pace.due(kStart + 1s), 1'001U);
  EXPECT_EQ(pace.due_at(500), kStart + 500ms);
}

TEST(Pace, SlowerThanOneASecond) {
  const Pace pace(0.5, kStart);
  EXPECT_EQ(pace.due(kStart + 1'999ms), 1U);
  EXPECT_EQ(pace.due(kStart + 2s), 2U);
}

// At `now`, requests 0 to due - 1 are due and request `due` is not.
TEST(Pace, DueAndDueAtAgree) {
  Prng prng(4);
  for (int round = 0; round < 10'000; ++round) {
    const Pace pace(0.1 + prng.unit() * 3e6, kStart);
    const Time now = kStart + Nanoseconds{static_cast<std::int64_t>(prng.unit() * 600e9)};
    const std::uint64_t due = pace.due(now);
    ASSERT_GE(due, 1U);
    ASSERT_LE(pace.due_at(due - 1), now);
    ASSERT_GT(pace.due_at(due), now);
  }
}

TEST(Pace, DoesNotDrift) {
  const Pace pace(333'333, kStart);  // an interval that is no whole number of nanoseconds
  EXPECT_NEAR(static_cast<double>(pace.due(kStart + 3'000s)), 333'333.0 * 3'000, 2);
}

}  // namespace
}  // namespace weir::load
