// BlockPool: memory for nghttp2, which allocates some ten blocks a request, from free
// lists of one core: no lock, no walk through an allocator's bins.
//
// Sizes are rounded up to a power of two, and a free list keeps at most kKeptMax bytes. A block
// that is larger than kBlockMax, or one too many, goes back to the system.
//
// The pool ignores a second release of a block. nghttp2 1.52 does so when it had no memory to queue
// the body of an answer (nghttp2_submit_data). We would not know of a block that was taken again in
// between, so a session without memory is deleted at once.
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
  static constexpr std::size_t kBlockMax = 32 << 10;  // nghttp2's buffer for a frame fits
  static constexpr std::size_t kKeptMax = 1 << 20;

  BlockPool();
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // For nghttp2 to call. Valid as long as the pool, which must outlive all blocks.
  nghttp2_mem* functions() { return &functions_; }

  // As malloc, free and realloc: null when there is no memory, or for null. The memory is
  // aligned for anything.
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
