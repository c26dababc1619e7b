// OwnCount: a figure that one core raises and any thread reads.
//
// Only the owning core writes, so a load and a store are an increment: no locked instruction,
// and a reader sees the old figure or the new one.
//
// Thread rule: add() and clear() on the owning core; read() from any thread.
// Tested by src/observe/traffic_test.cc.

#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

class OwnCount {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    count_.store(read() + amount, std::memory_order_relaxed);
  }
  void clear() noexcept { count_.store(0, std::memory_order_relaxed); }
  std::uint64_t read() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace weir
