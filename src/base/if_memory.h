// has_memory_for and make_if_memory: for places where memory may be short and nothing may throw.
//
// Thread rule: none of its own. Tested by src/store/redis/fleet/out_of_memory_test.cc.

#pragma once

#include <memory>
#include <new>
#include <utility>

namespace weir {

// Runs the action. Returns false if there was no memory for it.
template <typename Action>
bool has_memory_for(const Action& action) {
  try {
    action();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Returns null if there is no memory for the object, or for what its constructor allocates.
template <typename T, typename... Args>
std::unique_ptr<T> make_if_memory(Args&&... args) noexcept {
  std::unique_ptr<T> made;
  has_memory_for([&] { made = std::make_unique<T>(std::forward<Args>(args)...); });
  return made;
}

}  // namespace weir
