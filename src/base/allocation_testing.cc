#include "base/allocation_testing.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::size_t g_allocations = 0;
std::size_t g_fails_from = SIZE_MAX;  // numbers of the failing ones
std::size_t g_fails_to = SIZE_MAX;

void* counted_or_null(std::size_t size) noexcept {
  const std::size_t number = g_allocations++;
  return number >= g_fails_from && number < g_fails_to ? nullptr : std::malloc(size);
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

NoMemory::NoMemory(const Shortage& shortage) : from_(g_allocations + shortage.spared) {
  g_fails_from = from_;
  g_fails_to = shortage.failing == SIZE_MAX ? SIZE_MAX : from_ + shortage.failing;
}

NoMemory::~NoMemory() { g_fails_from = g_fails_to = SIZE_MAX; }

bool NoMemory::has_failed() const { return g_allocations > from_; }

}  // namespace weir
