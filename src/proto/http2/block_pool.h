// BlockPool: memory for nghttp2, which allocates some ten blocks a request. It comes from one
// core's free lists: no lock, no walk through an allocator's bins.
//
// Sizes are rounded up to a power of two, and a free list keeps at most kKeptMax bytes. A block
// larger than kBlockMax, or one too many, goes back to the system.
//
// The pool ignores a second release of a block. nghttp2 1.52 releases one twice when it had no
// memory to queue an answer's body (nghttp2_submit_data). The pool would not notice if the block
// was taken again in between, so a session without memory is deleted at once.
//
// Thread rule: one thread, sessions included. Tested by block_pool_test.cc.

#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>

namespace weir {

class BlockPool {
 public:
  static constexpr std::size_t kBlockMin = 64;
  static constexpr std::size_t kBlockMax = 32 << 10;  // has room for nghttp2's buffer for a frame
  static constexpr std::size_t kKeptMax = 1 << 20;

  BlockPool();
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // The functions that nghttp2 calls. Valid as long as the pool, which must outlive all blocks.
  nghttp2_mem* functions() { return &functions_; }

  // Like malloc, free and realloc: null if there is no memory, or for null. The memory is aligned
  // for any type.
  void* allocate(std::size_t size) noexcept;
  void release(void* memory) noexcept;
  void* resize(void* memory, std::size_t size) noexcept;

 private:
  static constexpr std::size_t kClasses = 10;
  static_assert(kBlockMin << (kClasses - 1) == kBlockMax);

  struct FreeBlock {
    FreeBlock* next;
  };
  struct FreeList {
    FreeBlock* first = nullptr;
    std::size_t count = 0;
  };

  std::array<FreeList, kClasses> free_;
  nghttp2_mem functions_;
};

}  // namespace weir
