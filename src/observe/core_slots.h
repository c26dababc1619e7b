// CoreSlots: the counters of all cores, one plain struct each, and where their memory is.
//
// A core counts in its own struct, with plain stores that nobody waits for; whoever wants to
// know adds them all up. Nothing in such a struct leads elsewhere (no pointer, no container,
// no lock), and zeros are its beginning, so it may be in memory that several processes map,
// each at its own address:
//
//   one process      CoreSlots<T> slots;             add() takes memory, of zeros
//   one of several   CoreSlots<T> slots(all, 3);     add() hands out all[3], all[4], ..;
//                                                    each() visits those of the others, too
//
// Thread rule: any thread. Tested by core_slots_test.cc.

#pragma once

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

namespace weir {

template <typename Core>
class CoreSlots {
  static_assert(std::is_standard_layout_v<Core> && std::is_trivially_destructible_v<Core>);
  // Else they would need a lock, which is not in the shared memory.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

 public:
  CoreSlots() = default;

  // `all` was zeros when the first process came, and must outlive this.
  // REQUIRES: nobody else counts in `all` from `own_first` on, as far as add() is called.
  CoreSlots(std::span<Core> all, std::size_t own_first)
      : is_given_(true), next_own_(own_first), cores_(pointers_to(all)) {}

  // The counters of a new core of this process. They live as long as this object, or their
  // memory was given. REQUIRES: there is one left of those that were given.
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

  // Whether add() hands out what was given, which each() visits in any case.
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

  // Of zeros, like a HugeArray, but a page is taken only when it is counted in: most have
  // room for many more rules than there are.
  Core* make() {
    auto space = sizeof(Core) + alignof(Core);
    void* memory = std::calloc(1, space);
    if (memory == nullptr) throw std::bad_alloc();
    own_.emplace_back(memory);
    return static_cast<Core*>(std::align(alignof(Core), sizeof(Core), memory, space));
  }

  const bool is_given_ = false;
  mutable std::mutex mutex_;  // guards what follows, but not the counts
  std::size_t next_own_ = 0;
  std::vector<std::unique_ptr<void, Free>> own_;
  std::vector<Core*> cores_;
};

}  // namespace weir
