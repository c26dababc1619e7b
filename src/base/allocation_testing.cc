#include "base/allocation_testing.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::size_t g_allocations = 0;
std::size_t g_fails = SIZE_MAX;  // the number of the one that does

void* counted_or_null(std::size_t size) noexcept {
  return g_allocations++ == g_fails ? nullptr : std::malloc(size);
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

FailingAllocation::FailingAllocation(std::size_t spared) : fails_(g_allocations + spared) {
  g_fails = fails_;
}

FailingAllocation::~FailingAllocation() { g_fails = SIZE_MAX; }

bool FailingAllocation::has_failed() const { return g_allocations > fails_; }

}  // namespace weir
