#include "observe/key_sketch.h"

#include <cmath>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(60'000'000'000);  // a minute begins

std::uint64_t keys_of(const KeySketch& sketch, Instant now) {
  KeySketch::Registers registers{};
  sketch.merge_into(registers, now);
  return KeySketch::estimate(registers);
}

void add_keys(KeySketch& sketch, std::uint64_t count, std::uint64_t seed, Instant now) {
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < count; ++i) sketch.add(random(), now);
}

TEST(KeySketch, KnowsNoneAndOne) {
  KeySketch sketch;
  EXPECT_EQ(keys_of(sketch, kStart), 0u);
  for (int i = 0; i < 100; ++i) sketch.add(0x1234'5678'9abc'def0, kStart);
  EXPECT_EQ(keys_of(sketch, kStart), 1u);
}

// The error is 9 %. So its mean over forty sketches must be a fraction of that, and no sketch may
// be off by four times that.
TEST(KeySketch, EstimatesWithinItsError) {
  for (const std::uint64_t count : {10u, 100u, 300u, 1'000u, 10'000u, 200'000u}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      KeySketch sketch;
      add_keys(sketch, count, seed, kStart);
      const double error =
          static_cast<double>(keys_of(sketch, kStart)) / static_cast<double>(count) - 1;
      EXPECT_LT(std::abs(error), 0.36) << count;
      sum += error;
    }
    EXPECT_LT(std::abs(sum / 40), 0.05) << count;
  }
}

TEST(KeySketch, ForgetsAfterTheNextMinute) {
  KeySketch sketch;
  add_keys(sketch, 50, 1, kStart);
  const auto then = keys_of(sketch, kStart);
  EXPECT_EQ(keys_of(sketch, kStart + 119s), then);
  EXPECT_EQ(keys_of(sketch, kStart + 120s), 0u);
  sketch.add(1, kStart + 60s);
  EXPECT_GE(keys_of(sketch, kStart + 60s), then);
  sketch.add(1, kStart + 120s);
  EXPECT_EQ(keys_of(sketch, kStart + 120s), 1u);
}

TEST(KeySketch, MergesWhatSeveralCoresHaveSeen) {
  KeySketch one;
  KeySketch other;
  add_keys(one, 1000, 1, kStart);
  add_keys(other, 1000, 1, kStart);
  const auto alone = keys_of(one, kStart);
  KeySketch::Registers registers{};
  one.merge_into(registers, kStart);
  other.merge_into(registers, kStart);
  EXPECT_EQ(KeySketch::estimate(registers), alone);
}

TEST(KeySketch, IsReadWhileKeysAreAdded) {
  KeySketch sketch;
  std::thread adding([&] {
    for (int minute = 0; minute < 1'000; ++minute) {
      add_keys(sketch, 20, 1, kStart + minute * 60s);
    }
  });
  for (int i = 0; i < 1'000; ++i) EXPECT_LT(keys_of(sketch, kStart + i * 60s), 40u);
  adding.join();
}

}  // namespace
}  // namespace weir
