// For tests: how often this program has allocated memory with operator new, and what it does
// when there is none.
//
// Whoever links weir_allocation_testing and calls allocations() has every operator new of
// the program counted. Not under sanitizers, which have one of their own.
//
// Thread rule: one thread. Tested by allocation_testing_test.cc.

#pragma once

#include <cstddef>

namespace weir {

// Since the start.
std::size_t allocations();

// While it lives, there is no memory for one allocation: the one before which there were
// `spared` since it was made. At most one lives at a time.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t spared);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  bool has_failed() const;

 private:
  const std::size_t fails_;  // its number
};

}  // namespace weir
