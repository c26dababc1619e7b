#include "base/allocation_testing.h"

#include <cstdlib>
#include <new>

namespace {

std::size_t g_allocations = 0;
int g_no_memory = 0;  // NoMemory that live

void* counted_or_null(std::size_t size) noexcept {
  ++g_allocations;
  return g_no_memory > 0 ? nullptr : std::malloc(size);
}

void* counted(std::size_t size) {
  if (void* const memory = counted_or_null(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir {

std::size_t allocations() { return g_allocations; }

NoMemory::NoMemory() { ++g_no_memory; }
NoMemory::~NoMemory() { --g_no_memory; }

}  // namespace weir
