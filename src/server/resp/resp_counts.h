// RespCounts: how many connections the Redis doors have, and commands they have answered.
//
// As with Traffic, each core counts in its own and whoever asks adds them up.
// Thread rule: record..() on the owning core; summary() from anywhere.
// Tested by resp_commands_test.cc.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace weir {

struct RespCountsSummary {
  std::uint64_t opened = 0;  // connections, ever
  std::uint64_t closed = 0;
  std::uint64_t commands = 0;
};

// On cache lines of its own: another core must not wait for ours.
class alignas(64) CoreRespCounts {
 public:
  void record_opened() noexcept { add_one(opened_); }
  void record_closed() noexcept { add_one(closed_); }
  void record_command() noexcept { add_one(commands_); }

 private:
  friend class RespCounts;

  // Only the owning core writes: a load and a store are an increment. Relaxed: each is a
  // figure by itself.
  static void add_one(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> opened_{0};
  std::atomic<std::uint64_t> closed_{0};
  std::atomic<std::uint64_t> commands_{0};
};

class RespCounts {
 public:
  // The counters of a new core. They live as long as this object.
  CoreRespCounts& add_core();

  RespCountsSummary summary() const;

 private:
  mutable std::mutex mutex_;  // guards cores_ against add_core during summary
  std::deque<CoreRespCounts> cores_;
};

}  // namespace weir
