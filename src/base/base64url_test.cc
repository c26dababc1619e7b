#include "base/base64url.h"

#include <gtest/gtest.h>

#include "base/base64url_testing.h"

namespace weir {
namespace {

// RFC 4648 10, without the padding.
TEST(Base64Url, IsTheStandards) {
  EXPECT_EQ(base64url(""), "");
  EXPECT_EQ(base64url("f"), "Zg");
  EXPECT_EQ(base64url("fo"), "Zm8");
  EXPECT_EQ(base64url("foo"), "Zm9v");
  EXPECT_EQ(base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url("\xfb\xff\xfe"), "-__-");
}

TEST(Base64Url, ReadsWhatItWrote) {
  std::string text;
  std::string decoded;
  for (int i = 0; i < 256; ++i) {
    text += static_cast<char>(i);
    ASSERT_TRUE(decode_base64url(base64url(text), decoded));
    ASSERT_EQ(decoded, text);
  }
}

TEST(Base64Url, RefusesWhatItNeverWrites) {
  std::string decoded;
  for (const std::string_view text :
       {"Z", "Zh", "Zm9", "Zg==", "Zm+v", "Zm/v", "Zm v", "Zm\xffv"}) {
    EXPECT_FALSE(decode_base64url(text, decoded)) << text;
  }
}

TEST(Base64Url, WritesAWordFromItsHighestBits) {
  char word[11];
  const auto written = [&](std::uint64_t bits) {
    return std::string(word, static_cast<std::size_t>(put_base64url(word, bits) - word));
  };
  EXPECT_EQ(written(0), "AAAAAAAAAAA");
  EXPECT_EQ(written(63), "AAAAAAAAAA_");
  EXPECT_EQ(written(~std::uint64_t{0}), "P__________");
}

}  // namespace
}  // namespace weir
