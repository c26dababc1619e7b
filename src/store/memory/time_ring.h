// TimeRing: the times of one sliding log, oldest first, in a ring that grows.
//
// Lives inside a record of the wide store, so it must be valid as zeros and has no
// destructor: RingView frees it. One entry fits in the ring itself, so that a key seen
// once costs no allocation and a log that is refused memory still counts every unit.
//
// Thread rule: under its shard's mutex. Tested by time_ring_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "algo/sliding_log.h"

namespace weir {

// The entries that all rings of a store may have together. Thread rule: any thread; the atomic
// orders nothing.
struct RingBudget {
  std::size_t entries_max = 0;
  std::atomic<std::size_t> entries = 0;

  // A ring of `from` entries changes to `to`. False if all rings would then have too many.
  bool change(std::size_t from, std::size_t to) noexcept {
    const std::size_t after = entries.fetch_add(to - from, std::memory_order_relaxed) + to - from;
    if (to <= from || after <= entries_max) return true;
    entries.fetch_sub(to - from, std::memory_order_relaxed);
    return false;
  }
};

struct TimeRing {
  algo::LogEntry* entries;  // null: `own` is the only entry
  std::uint32_t capacity;   // of `entries`; a power of two
  std::uint32_t head;       // index of the oldest
  std::uint32_t size;
  std::int64_t total;  // units in all entries
  algo::LogEntry own;
};

// A ring and the budget it grows by: the log that algo/sliding_log.h works on.
class RingView {
 public:
  RingView(TimeRing& ring, RingBudget& budget) : ring_(ring), budget_(budget) {}

  std::size_t size() const noexcept { return ring_.size; }
  std::int64_t total() const noexcept { return ring_.total; }
  const algo::LogEntry& operator[](std::size_t index) const noexcept { return at(index); }

  void pop_front() noexcept;
  // Makes room if the budget allows; else merges the two oldest entries into the later one.
  void push_back(algo::LogEntry entry) noexcept;
  // Replaces an entry, keeping the order.
  void set(std::size_t index, algo::LogEntry entry) noexcept;
  // Gives the memory back.
  void clear() noexcept;

 private:
  algo::LogEntry& at(std::size_t index) const noexcept {
    if (ring_.entries == nullptr) return ring_.own;
    return ring_.entries[(ring_.head + index) & (ring_.capacity - 1)];
  }
  std::size_t capacity() const noexcept { return ring_.entries == nullptr ? 1 : ring_.capacity; }
  bool resize(std::size_t capacity) noexcept;

  static constexpr std::size_t kSmallest = 4;  // entries of the first ring

  TimeRing& ring_;
  RingBudget& budget_;
};

static_assert(algo::TimeLog<RingView>);

}  // namespace weir
