#include "base/decimal.h"

#include <limits>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string decimal(std::integral auto number) {
  std::array<char, kDecimalMax> text{};
  return {text.data(), write_decimal(text.data(), number)};
}

// Tries the bits as an unsigned number, as a signed one, and as its opposite.
void expect_right(std::uint64_t bits) {
  ASSERT_EQ(decimal(bits), std::to_string(bits));
  for (const std::uint64_t with_sign : {bits, 0 - bits}) {
    const auto number = static_cast<std::int64_t>(with_sign);
    ASSERT_EQ(decimal(number), std::to_string(number));
  }
}

TEST(Decimal, IsRightAroundEachPower) {
  for (std::uint64_t off = 0; off < 3; ++off) {
    for (std::uint64_t power = 1, i = 0; i < 64; ++i, power *= 2) {
      expect_right(power + off);
      expect_right(power - off);
    }
    for (std::uint64_t power = 1, i = 0; i < 20; ++i, power *= 10) {
      expect_right(power + off);
      expect_right(power - off);
    }
  }
}

TEST(Decimal, KnowsTheEndsOfItsTypes) {
  EXPECT_EQ(decimal(0), "0");
  EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(decimal(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(decimal(std::numeric_limits<std::int32_t>::min()), "-2147483648");
  EXPECT_EQ(decimal(std::numeric_limits<std::uint8_t>::max()), "255");
}

TEST(Decimal, IsRightForManyOfEachLength) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) expect_right(random() >> (random() % 64));
}

}  // namespace
}  // namespace weir
