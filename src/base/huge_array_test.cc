#include "base/huge_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

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

TEST(HugeArray, LeavesGivenMemoryToItsOwner) {
  std::array<std::uint64_t, 4> memory{};
  {
    HugeArray<std::uint64_t> array{std::span(memory)};
    EXPECT_EQ(array.size(), 4u);
    array[3] = 7;
  }
  EXPECT_EQ(memory[3], 7u);
}

}  // namespace
}  // namespace weir
