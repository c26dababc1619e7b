#include "base/huge_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace weir {
namespace {

TEST(HugeArray, StartsAsZerosAndKeepsWhatIsWritten) {
  HugeArray<std::uint64_t> array(1 << 20);
  EXPECT_EQ(array.size(), 1u << 20);
  EXPECT_EQ(array.bytes(), 8u << 20);
  EXPECT_TRUE(std::all_of(array.begin(), array.end(), [](auto value) { return value == 0; }));
  array[array.size() - 1] = 7;
  EXPECT_EQ(*(array.end() - 1), 7u);
}

TEST(HugeArray, MayBeEmpty) {
  HugeArray<std::uint64_t> array(0);
  EXPECT_EQ(array.begin(), array.end());
}

}  // namespace
}  // namespace weir
