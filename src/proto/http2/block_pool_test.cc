#include "proto/http2/block_pool.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(BlockPool, GivesTheSameBlockAgain) {
  BlockPool pool;
  void* const first = pool.allocate(100);
  pool.release(first);
  EXPECT_EQ(pool.allocate(128), first);  // the same size class
  pool.release(first);
  void* const larger = pool.allocate(129);
  EXPECT_NE(larger, first);
  pool.release(larger);
}

TEST(BlockPool, BlocksAreApartAndAligned) {
  BlockPool pool;
  std::vector<char*> blocks;
  for (std::size_t size : {0, 1, 63, 64, 65, 1000, 32'768, 32'769, 100'000}) {
    auto* const block = static_cast<char*>(pool.allocate(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0u);
    std::memset(block, static_cast<int>(blocks.size()), size);
    blocks.push_back(block);
  }
  EXPECT_EQ(blocks[2][62], 2);
  EXPECT_EQ(blocks[8][99'999], 8);
  for (char* block : blocks) pool.release(block);
}

TEST(BlockPool, ResizingKeepsTheBytes) {
  BlockPool pool;
  void* memory = pool.resize(nullptr, 10);
  std::memcpy(memory, "0123456789", 10);
  for (std::size_t size : {60, 5000, 100'000, 20}) {
    memory = pool.resize(memory, size);
    EXPECT_EQ(std::memcmp(memory, "0123456789", 10), 0) << size;
  }
  pool.release(memory);
}

TEST(BlockPool, WhatIsTooLargeIsRefused) {
  BlockPool pool;
  EXPECT_EQ(pool.allocate(SIZE_MAX), nullptr);
  nghttp2_mem& functions = *pool.functions();
  EXPECT_EQ(functions.calloc(SIZE_MAX / 2, 3, functions.mem_user_data), nullptr);
}

TEST(BlockPool, ZeroedMeansZeroedEvenWhenUsedBefore) {
  BlockPool pool;
  void* const used = pool.allocate(64);
  std::memset(used, 0xff, 64);
  pool.release(used);
  nghttp2_mem& functions = *pool.functions();
  const auto* const zeroed =
      static_cast<const char*>(functions.calloc(8, 8, functions.mem_user_data));
  EXPECT_EQ(zeroed, used);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(zeroed[i], 0);
  pool.release(used);
}

TEST(BlockPool, WhatIsReleasedTwiceIsNotGivenToTwo) {
  BlockPool pool;
  void* const block = pool.allocate(100);
  pool.release(block);
  pool.release(block);
  void* const one = pool.allocate(100);
  void* const other = pool.allocate(100);
  EXPECT_NE(one, other);
  pool.release(one);
  pool.release(other);
}

}  // namespace
}  // namespace weir
