// The two things libweir takes from the machine: its time and its randomness.

#include "weir/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "weir/key.h"

namespace weir {
namespace {

Instant wall_clock() {
  return Instant{std::chrono::floor<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

TEST(SystemClock, TellsTheWallClocksTime) {
  // Several clocks: unless the date is set between the three readings, one fits.
  const bool fits = std::ranges::any_of(std::array{1, 2, 3}, [](int) {
    const auto before = wall_clock();
    const auto now = SystemClock().now();
    return before - Duration{1} <= now && now <= wall_clock() + Duration{1};
  });
  EXPECT_TRUE(fits);
}

TEST(SystemClock, NeverGoesBack) {
  const auto clock = SystemClock();
  auto last = clock.now();
  for (int i = 0; i < 100'000; ++i) {
    const auto now = clock.now();
    ASSERT_LE(last, now);
    last = now;
  }
}

TEST(HashSecret, IsDifferentEachTimeAndFilledToItsEnd) {
  const auto one = HashSecret::random();
  const auto other = HashSecret::random();
  EXPECT_NE(one.bytes, other.bytes);
  // 64 zero bytes in a row come by chance once in 2^512 times.
  EXPECT_TRUE(std::any_of(one.bytes.end() - 64, one.bytes.end(),
                          [](std::byte byte) { return byte != std::byte{0}; }));
}

}  // namespace
}  // namespace weir
