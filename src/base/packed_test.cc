#include "base/packed.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::uint64_t kMost = (std::uint64_t{1} << 63) - 1;

std::string some_bytes() {
  return PackedWriter().version('1').number(300).hash(~std::uint64_t{1}).text("a b").take();
}

TEST(Packed, IsReadAsItWasWritten) {
  const std::string bytes = some_bytes();
  EXPECT_EQ(bytes,
            "1\xac\x02\xfe\xff\xff\xff\xff\xff\xff\xff\x03"
            "a b");
  PackedReader in(bytes);
  in.version('1');
  EXPECT_EQ(in.number(300), 300u);
  EXPECT_EQ(in.hash(), ~std::uint64_t{1});
  EXPECT_FALSE(in.is_whole());
  EXPECT_EQ(in.text(3), "a b");
  EXPECT_TRUE(in.is_whole());
  EXPECT_FALSE(in.has_more());
}

TEST(Packed, NumbersOfAnySizeAreReadBack) {
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{1} << 56, kMost}) {
    const std::string bytes = PackedWriter().number(number).take();
    PackedReader in(bytes);
    EXPECT_EQ(in.number(kMost), number);
    EXPECT_TRUE(in.is_whole());
  }
}

TEST(Packed, AListHasAByteForEachItemAtLeast) {
  PackedReader in(
      std::string_view("\x02"
                       "ab"));
  EXPECT_EQ(in.items(), 2u);
  EXPECT_TRUE(in.has_more());
}

// After the first mistake, bytes could read as anything.
void expect_nothing_more(PackedReader& in) {
  EXPECT_FALSE(in.has_more());
  EXPECT_FALSE(in.is_whole());
  EXPECT_EQ(in.number(kMost), 0u);
  EXPECT_EQ(in.hash(), 0u);
  EXPECT_EQ(in.text(99), "");
  EXPECT_FALSE(in.is_whole());
}

TEST(Packed, BehindTheFirstThingThatIsWrongIsNothing) {
  const std::string bytes = some_bytes();
  PackedReader other_version(bytes);
  other_version.version('2');
  expect_nothing_more(other_version);

  PackedReader too_great(bytes);
  too_great.version('1');
  EXPECT_EQ(too_great.number(299), 0u);
  expect_nothing_more(too_great);

  PackedReader endless(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 more"));
  EXPECT_EQ(endless.number(kMost), 0u);
  expect_nothing_more(endless);

  PackedReader too_long(
      std::string_view("\x03"
                       "abc"));
  EXPECT_EQ(too_long.text(2), "");
  expect_nothing_more(too_long);

  PackedReader more_items_than_bytes(
      std::string_view("\x03"
                       "ab"));
  EXPECT_EQ(more_items_than_bytes.items(), 0u);
  expect_nothing_more(more_items_than_bytes);

  PackedReader cut_hash(std::string_view("1234567"));
  EXPECT_EQ(cut_hash.hash(), 0u);
  expect_nothing_more(cut_hash);

  PackedReader refused(bytes);
  refused.require(false);
  expect_nothing_more(refused);
}

}  // namespace
}  // namespace weir
