// What the core takes from its machine, on a WebAssembly module: memory, and an end to bugs.
//
// Memory comes from the end of the module's, which grows and never shrinks. Blocks are powers of
// two and go to a list of their size when they are freed. That is enough for texts and the rings of
// logs, and a twentieth of a general malloc in code.
//
// Thread rule: one thread. Tested by differential_test.mjs.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/assert.h"
#include "base/huge_array.h"

extern "C" std::uint8_t __heap_base;  // by the linker: what follows is free

namespace weir {
namespace {

constexpr std::size_t kPageSize = 65'536;
constexpr std::size_t kAlignment = 64;  // a cache line
constexpr std::size_t kMemoryMax = std::size_t{1} << 31;

std::uintptr_t free_from = 0;

// Zeroed. Null if the module may not grow.
void* take(std::size_t bytes) {
  if (free_from == 0) free_from = reinterpret_cast<std::uintptr_t>(&__heap_base);
  const std::uintptr_t begin = (free_from + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t size = __builtin_wasm_memory_size(0) * kPageSize;
  if (bytes > kMemoryMax - begin) return nullptr;
  if (begin + bytes > size) {
    const std::size_t pages = (begin + bytes - size + kPageSize - 1) / kPageSize;
    if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return nullptr;
  }
  free_from = begin + bytes;
  return reinterpret_cast<void*>(begin);
}

struct Block {
  Block* next;
  std::size_t size_class;  // while it is in use, too
};
constexpr std::size_t kHeader = 16;  // so that what follows is aligned for anything
static_assert(sizeof(Block) <= kHeader);

std::array<Block*, 32> free_blocks{};

void* allocate(std::size_t bytes) {
  const auto size_class = static_cast<std::size_t>(std::bit_width(bytes + kHeader - 1));
  if (size_class >= free_blocks.size()) return nullptr;
  Block* block = free_blocks[size_class];
  if (block != nullptr) {
    free_blocks[size_class] = block->next;
  } else {
    block = static_cast<Block*>(take(std::size_t{1} << size_class));
    if (block == nullptr) return nullptr;
    block->size_class = size_class;
  }
  return reinterpret_cast<std::uint8_t*>(block) + kHeader;
}

void release(void* memory) {
  if (memory == nullptr) return;
  auto* block = reinterpret_cast<Block*>(static_cast<std::uint8_t*>(memory) - kHeader);
  block->next = free_blocks[block->size_class];
  free_blocks[block->size_class] = block;
}

void* allocate_or_end(std::size_t bytes) {
  void* memory = allocate(bytes);
  if (memory == nullptr) __builtin_trap();  // JavaScript sees a RuntimeError
  return memory;
}

}  // namespace

void* allocate_pages(std::size_t bytes) {
  void* pages = take(bytes);
  if (pages == nullptr) __builtin_trap();
  return pages;
}

void free_pages(void*, std::size_t) noexcept {}  // a store lasts as long as its module

void report_bug(const char*, const char*, int) noexcept { __builtin_trap(); }

}  // namespace weir

void* operator new(std::size_t bytes) { return weir::allocate_or_end(bytes); }
void* operator new(std::size_t bytes, std::align_val_t) { return weir::allocate_pages(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return weir::allocate(bytes);
}
void operator delete(void* memory) noexcept { weir::release(memory); }
void operator delete(void*, std::align_val_t) noexcept {}  // of the store, too
void operator delete[](void* memory) noexcept { weir::release(memory); }
