#include "rules/request/plain_value.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::string_view_literals;

TEST(PlainValue, ArePlainIfAllOriginsReadThemAlike) {
  for (const auto text :
       {""sv, "k1"sv, "a b\tc"sv, "~!\"#$%&'()"sv, "voil\xC3\xA0"sv, "\xC3\x85ngstr\xC3\xB6m"sv,
        "\xF0\x9F\x98\x85"sv, "a\xC2\xA0z"sv, "a\xA0z"sv, "\xFF\xFE"sv, "\xC3"sv, "\xE2\x80"sv,
        "\xE2\x80\x9C, \xE2\x80\xA6"sv}) {
    EXPECT_TRUE(is_plain_value(text)) << text;
  }
}

TEST(PlainValue, AreNotPlainWithControlCharacters) {
  for (int c = 0; c < ' '; ++c) {
    EXPECT_EQ(is_plain_value("a" + std::string(1, static_cast<char>(c)) + "z"), c == '\t') << c;
  }
  EXPECT_FALSE(is_plain_value("a\x7Fz"));
  EXPECT_FALSE(is_plain_value("\xC3\xA0\x0B"));
}

TEST(PlainValue, AreNotPlainWithWhiteSpaceThatOriginsTrim) {
  for (const std::string space :
       {"\x85", "\xA0", "\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x8A",
        "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80",
        "\xEF\xBB\xBF", "\xE0\x82\xA0"}) {
    for (const std::string& text :
         {space, space + "k1", "k1" + space, "k1" + space + space, "k1" + space + ",x",
          "x," + space + "k1", "x, " + space + "k1", "s=" + space + "k1", "s=k1" + space + "; t=1",
          "k1" + space + "\t,x"}) {
      EXPECT_FALSE(is_plain_value(text)) << text;
    }
    EXPECT_TRUE(is_plain_value("a" + space + "z")) << space;
  }
}

}  // namespace
}  // namespace weir
