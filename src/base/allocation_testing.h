// For tests: how often this program has allocated memory with operator new, and what it does
// when there is none.
//
// A program that links weir_allocation_testing and calls allocations() has every operator new
// counted. Not under sanitizers, which have one of their own.
//
// Thread rule: one thread. Tested by allocation_testing_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.h"

namespace weir {

// Since the start.
std::size_t allocations();

// While it lives, some allocations fail: all, unless it is told which. At most one lives at a
// time.
class NoMemory {
 public:
  struct Shortage {
    std::size_t spared = 0;  // allocations before the first that fails
    std::size_t failing = SIZE_MAX;
  };
  NoMemory() : NoMemory(Shortage{}) {}
  explicit NoMemory(const Shortage& shortage);
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

  bool has_failed() const;

 private:
  const std::size_t from_;  // the number of the first that fails
};

// Calls `attempt` again and again with a function that runs an action without memory. Each time one
// allocation more is spared, and so many behind it fail, until none has to.
template <typename Try>
void try_each_shortage(std::size_t failing, Try attempt) {
  constexpr std::size_t kAllocationsMax = 1'000;
  bool has_failed = true;
  for (std::size_t spared = 0; has_failed && spared < kAllocationsMax; ++spared) {
    attempt([&](auto act) {
      const NoMemory none({.spared = spared, .failing = failing});
      act();
      has_failed = none.has_failed();
    });
  }
  WEIR_ASSERT(!has_failed);
}

}  // namespace weir
