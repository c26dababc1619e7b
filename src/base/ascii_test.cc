#include "base/ascii.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Ascii, OnlyItsOwnLettersHaveCases) {
  EXPECT_EQ(to_ascii_lower("X-Real-IP @[`{\xC3\x84"), "x-real-ip @[`{\xC3\x84");
  EXPECT_TRUE(equal_ignoring_case("X-Real-IP", "x-real-ip"));
  EXPECT_FALSE(equal_ignoring_case("X-Real-IP", "x-real-i"));
  EXPECT_FALSE(equal_ignoring_case("@", "`"));
  EXPECT_TRUE(equal_ignoring_case("", ""));
  for (int pair = 0; pair < 1 << 16; ++pair) {
    const char one = static_cast<char>(pair);
    const char other = static_cast<char>(pair >> 8);
    for (const std::string before : {"", "Aaa\xff@zZ"}) {
      ASSERT_EQ(equal_ignoring_case(before + one, before + other),
                ascii_lower(one) == ascii_lower(other));
    }
  }
}

TEST(Ascii, BlanksAreTrimmed) {
  EXPECT_EQ(trim_blanks(" \t a b\t "), "a b");
  EXPECT_EQ(trim_blanks(" \t "), "");
  EXPECT_EQ(trim_blanks("a"), "a");
  EXPECT_EQ(trim_blanks(""), "");
}

}  // namespace
}  // namespace weir
