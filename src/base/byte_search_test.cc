#include "base/byte_search.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace weir {
namespace {

TEST(ByteSearch, FindsWhatALoopFinds) {
  const auto kind = [](ByteGroup bytes) {
    return (bytes < ' ') | (bytes == '"') | (bytes == 0x7f);
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
    ASSERT_EQ(has_byte(text, kind), std::ranges::any_of(text, is_kind)) << text;
  }
}

}  // namespace
}  // namespace weir
