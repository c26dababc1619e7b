#include "base/byte_search.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace weir {
namespace {

TEST(ByteSearch, FindsWhatALoopFinds) {
  const auto kind = [](std::uint64_t word) {
    return bytes_below(word, ' ') | bytes_equal(word, '"') | bytes_equal(word, 0x7f);
  };
  const auto is_kind = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '"' || c == 0x7f;
  };
  constexpr std::string_view kNear("\0\x1f !\"#\x7e\x7f\x80\x9f\xa0\xa2\xfe\xff", 14);
  Prng prng(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(prng.below(40), 'x');
    for (auto edits = prng.below(6); edits > 0 && !text.empty(); --edits) {
      text[prng.below(static_cast<std::uint32_t>(text.size()))] = kNear[prng.below(kNear.size())];
    }
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    ASSERT_EQ(find_byte(begin, end, kind), std::find_if(begin, end, is_kind)) << text;
  }
}

TEST(ByteSearch, KnowsBytesWithinExactly) {
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    const bool is_letter = byte >= 'a' && byte <= 'z';
    const std::uint64_t word = 0x61ff7a60007b8061 << 8 | byte;
    const std::uint64_t marks = 0x8000800000000080 << 8 | (is_letter ? 0x80U : 0U);
    EXPECT_EQ(bytes_within(word, 'a', 'z'), marks) << byte;
  }
}

}  // namespace
}  // namespace weir
