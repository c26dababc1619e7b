// For tests: counts this program's allocations with operator new, and makes them fail.
//
// A program that links weir_allocation_testing and calls allocations() has every operator new
// counted. Not under sanitizers, which have their own operator new.
//
// Thread rule: one thread. Tested by allocation_testing_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.h"

namespace weir {

// The number of allocations since the start.
std::size_t allocations();

// While it lives, allocations fail: all, or those that the shortage names. At most one lives at a
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
  const std::size_t from_;  // the number of the first failing one
};

// Calls `attempt` repeatedly with a function that runs an action without memory. Each time one more
// allocation succeeds before `failing` ones fail, until none fails any more.
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
