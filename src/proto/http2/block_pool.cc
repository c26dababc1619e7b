#include "proto/http2/block_pool.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>

namespace weir {
namespace {

// Precedes each block, and is as long as the strictest alignment.
struct alignas(std::max_align_t) Header {
  std::uint32_t size_class;  // kClasses and above: not pooled
  bool is_free;
  std::size_t capacity;  // bytes behind the header
};

Header* header_of(void* memory) { return static_cast<Header*>(memory) - 1; }

BlockPool& pool_of(void* user_data) { return *static_cast<BlockPool*>(user_data); }

std::size_t class_of(std::size_t size) {
  const std::size_t rounded = std::bit_ceil(std::max(size, BlockPool::kBlockMin));
  return static_cast<std::size_t>(std::countr_zero(rounded) -
                                  std::countr_zero(BlockPool::kBlockMin));
}

void* allocate_zeroed(BlockPool& pool, std::size_t count, std::size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const memory = pool.allocate(count * size);
  return memory == nullptr ? nullptr : std::memset(memory, 0, count * size);
}

}  // namespace

BlockPool::BlockPool()
    : functions_{
          .mem_user_data = this,
          .malloc = [](std::size_t size, void* pool) { return pool_of(pool).allocate(size); },
          .free = [](void* memory, void* pool) { pool_of(pool).release(memory); },
          .calloc = [](std::size_t count, std::size_t size,
                       void* pool) { return allocate_zeroed(pool_of(pool), count, size); },
          .realloc = [](void* memory, std::size_t size,
                        void* pool) { return pool_of(pool).resize(memory, size); }} {}

BlockPool::~BlockPool() {
  for (FreeList& list : free_) {
    while (FreeBlock* const block = list.first) {
      list.first = block->next;
      ::operator delete(header_of(block));
    }
  }
}

void* BlockPool::allocate(std::size_t size) noexcept {
  if (size > SIZE_MAX / 4) return nullptr;
  const std::size_t size_class = size <= kBlockMax ? class_of(size) : kClasses;
  if (size_class < kClasses && free_[size_class].first != nullptr) {
    FreeList& list = free_[size_class];
    FreeBlock* const block = list.first;
    list.first = block->next;
    --list.count;
    header_of(block)->is_free = false;
    return block;
  }
  const std::size_t capacity = size_class < kClasses ? kBlockMin << size_class : size;
  auto* const header =
      static_cast<Header*>(::operator new(sizeof(Header) + capacity, std::nothrow));
  if (header == nullptr) return nullptr;
  *header = {
      .size_class = static_cast<std::uint32_t>(size_class), .is_free = false, .capacity = capacity};
  return header + 1;
}

void BlockPool::release(void* memory) noexcept {
  if (memory == nullptr) return;
  Header* const header = header_of(memory);
  if (header->is_free) return;
  const std::size_t size_class = header->size_class;
  if (size_class >= kClasses || free_[size_class].count * header->capacity >= kKeptMax) {
    return ::operator delete(header);
  }
  FreeList& list = free_[size_class];
  auto* const block = static_cast<FreeBlock*>(memory);
  block->next = list.first;
  list.first = block;
  ++list.count;
  header->is_free = true;
}

void* BlockPool::resize(void* memory, std::size_t size) noexcept {
  if (memory == nullptr) return allocate(size);
  const std::size_t capacity = header_of(memory)->capacity;
  if (size <= capacity) return memory;
  void* const larger = allocate(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, memory, capacity);
  release(memory);
  return larger;
}

}  // namespace weir
