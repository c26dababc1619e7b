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
}

TEST(Ascii, BlanksAreTrimmed) {
  EXPECT_EQ(trim_blanks(" \t a b\t "), "a b");
  EXPECT_EQ(trim_blanks(" \t "), "");
  EXPECT_EQ(trim_blanks("a"), "a");
  EXPECT_EQ(trim_blanks(""), "");
}

}  // namespace
}  // namespace weir
