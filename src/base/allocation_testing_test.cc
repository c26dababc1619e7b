#include "base/allocation_testing.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace weir {
namespace {

// Hides the memory from the optimizer, which may leave out unused memory.
void* g_memory = nullptr;
std::string g_text;

// The number of allocations that `what` makes.
template <typename What>
std::size_t allocations_of(What what) {
  const std::size_t before = allocations();
  what();
  return allocations() - before;
}

TEST(AllocationTesting, CountsEveryKind) {
  EXPECT_EQ(allocations_of([] {}), 0u);
  EXPECT_EQ(allocations_of([] { g_memory = ::operator new(8); }), 1u);
  ::operator delete(g_memory);
  EXPECT_EQ(allocations_of([] { g_memory = ::operator new[](8, std::nothrow); }), 1u);
  ::operator delete[](g_memory);
  EXPECT_EQ(allocations_of([] { g_text.assign(1000, 'x'); }), 1u);
}

TEST(AllocationTesting, FailsWhileThereIsNoMemory) {
  {
    const NoMemory none;
    EXPECT_EQ(::operator new(8, std::nothrow), nullptr);
  }
  g_memory = ::operator new(8);
  EXPECT_NE(g_memory, nullptr);
  ::operator delete(g_memory);
}

TEST(AllocationTesting, FailsTheOneThatIsToFail) {
  {
    const NoMemory failing({.spared = 1, .failing = 1});
    g_memory = ::operator new(8);
    ::operator delete(g_memory);
    EXPECT_FALSE(failing.has_failed());
    EXPECT_THROW(g_memory = ::operator new(8), std::bad_alloc);
    EXPECT_TRUE(failing.has_failed());
    g_memory = ::operator new(8);
    ::operator delete(g_memory);
  }
  const NoMemory failing({.failing = 1});
  g_memory = ::operator new(8, std::nothrow);
  EXPECT_EQ(g_memory, nullptr);
}

}  // namespace
}  // namespace weir
