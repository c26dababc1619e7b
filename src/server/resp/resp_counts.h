// RespCounts: how many connections the Redis doors have, and commands they have answered.
//
// Each core counts in its own CoreRespCounts, as with Traffic; a reader adds them up.
// Thread rule: record..() on the owning core; summary() from anywhere.
// Tested by resp_commands_test.cc.

#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "observe/core_slots.h"

namespace weir {

struct RespCountsSummary {
  std::uint64_t opened = 0;  // connections, ever
  std::uint64_t closed = 0;
  std::uint64_t commands = 0;
};

// Plain memory that begins as zeros (core_slots.h), on cache lines of its own: another core
// must not wait for ours.
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
  // In memory of its own, or as one of the processes that share `cores` (core_slots.h).
  RespCounts() = default;
  RespCounts(std::span<CoreRespCounts> cores, std::size_t own_first) : cores_(cores, own_first) {}

  // The counters of a new core. They live as long as this object, or their memory was given.
  CoreRespCounts& add_core() { return cores_.add(); }

  RespCountsSummary summary() const;

 private:
  CoreSlots<CoreRespCounts> cores_;
};

}  // namespace weir
