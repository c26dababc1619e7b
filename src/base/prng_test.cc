#include "base/prng.h"

#include <array>

#include <gtest/gtest.h>

namespace weir {
namespace {

// The first numbers of the reference implementation, prng.di.unimi.it/splitmix64.c.
TEST(Prng, IsSplitMix64) {
  Prng random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Prng, StaysBelowItsBoundAndReachesAllBelow) {
  Prng random(1);
  std::array<int, 6> times{};
  for (int i = 0; i < 600; ++i) ++times.at(random.below(6));
  for (const int count : times) EXPECT_GT(count, 50);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
}

TEST(Prng, UnitIsFromZeroToOne) {
  Prng random(1);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const double unit = random.unit();
    ASSERT_TRUE(unit >= 0 && unit < 1) << unit;
    sum += unit;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

}  // namespace
}  // namespace weir
