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

// While it lives, there is no memory: each operator new fails.
class NoMemory {
 public:
  NoMemory();
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace weir
