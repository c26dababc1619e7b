// make_if_memory: std::make_unique where memory may be short and nothing may throw.
//
// Thread rule: none of its own. Tested by src/store/redis/fleet/out_of_memory_test.cc.

#pragma once

#include <memory>
#include <new>
#include <utility>

namespace weir {

// Null if there is no memory, for it or for what it takes when it is made.
template <typename T, typename... Args>
std::unique_ptr<T> make_if_memory(Args&&... args) noexcept {
  try {
    return std::make_unique<T>(std::forward<Args>(args)...);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace weir
