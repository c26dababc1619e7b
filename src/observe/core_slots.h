// CoreSlots: the counters of all cores, one plain struct each, and where their memory is.
//
// A core counts in its own struct, with plain stores, so nobody waits. A reader adds all cores up.
// The struct holds no pointer, no container and no lock, and it begins as zeros. So several
// processes may map its memory, each at its own address:
//
//   one process      CoreSlots<T> slots;             add() takes memory, of zeros
//   one of several   CoreSlots<T> slots(all, 3);     add() hands out all[3], all[4], ..;
//                                                    each() visits those of the others, too
//
// Thread rule: any thread. Tested by core_slots_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "base/own_count.h"

namespace weir {

template <typename Core>
class CoreSlots {
  static_assert(std::is_standard_layout_v<Core> && std::is_trivially_destructible_v<Core>);
  // Other atomics would need a lock, which is not in the shared memory.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

 public:
  CoreSlots() = default;

  // `all` must outlive this, and was zeros when the first process mapped it.
  // REQUIRES: no other process counts in the slots that add() hands out, from `own_first` on.
  CoreSlots(std::span<Core> all, std::size_t own_first)
      : is_given_(true), next_own_(own_first), cores_(pointers_to(all)) {}

  // The counters of a new core of this process. They live as long as `all`, or as this object if
  // there is no `all`. REQUIRES: `all` has a slot left.
  Core& add() {
    const std::scoped_lock lock(mutex_);
    if (is_given_) {
      WEIR_ASSERT(next_own_ < cores_.size());
      return *cores_[next_own_++];
    }
    own_.reserve(own_.size() + 1);
    cores_.reserve(cores_.size() + 1);
    return *cores_.emplace_back(make());
  }

  // Whether add() hands out slots of `all`. each() always visits all of `all`.
  bool is_given() const { return is_given_; }

  template <typename Visit>
  void each(Visit visit) const {
    const std::scoped_lock lock(mutex_);
    for (const Core* core : cores_) visit(*core);
  }

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  static std::vector<Core*> pointers_to(std::span<Core> all) {
    std::vector<Core*> pointers;
    for (Core& core : all) pointers.push_back(&core);
    return pointers;
  }

  // Takes zeros. A page takes memory only when the core first counts in it, since most slots have
  // room for many more rules than there are.
  Core* make() {
    auto space = sizeof(Core) + alignof(Core);
    void* memory = std::calloc(1, space);
    if (memory == nullptr) throw std::bad_alloc();
    own_.emplace_back(memory);
    return static_cast<Core*>(std::align(alignof(Core), sizeof(Core), memory, space));
  }

  const bool is_given_ = false;
  mutable std::mutex mutex_;  // guards all below, but not the counts
  std::size_t next_own_ = 0;
  std::vector<std::unique_ptr<void, Free>> own_;
  std::vector<Core*> cores_;
};

// CoreCounters: a row of counters that each core keeps for itself, as in Traffic. A reader adds the
// cores up.
//
// Thread rule: Core::add_one() on the owning core; sum() from anywhere.
// Tested by src/server/resp/resp_commands_test.cc and
// src/server/http/admin/http_pages_test.cc.
template <std::size_t kSize>
class CoreCounters {
 public:
  using Sum = std::array<std::uint64_t, kSize>;

  // Plain memory that begins as zeros (core_slots.h). It has its own cache lines, so that no core
  // waits for another.
  class alignas(64) Core {
   public:
    void add_one(std::size_t which) noexcept { counts_[which].add(); }

   private:
    friend class CoreCounters;
    std::array<OwnCount, kSize> counts_{};
  };

  // The counters of a new core. They live as long as this object.
  Core& add_core() { return cores_.add(); }

  Sum sum() const {
    Sum sum{};
    cores_.each([&](const Core& core) {
      for (std::size_t i = 0; i < kSize; ++i) sum[i] += core.counts_[i].read();
    });
    return sum;
  }

 private:
  CoreSlots<Core> cores_;
};

}  // namespace weir
