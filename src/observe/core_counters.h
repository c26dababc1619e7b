// CoreCounters: a row of counters that each core keeps for itself, as with Traffic; a reader
// adds the cores up.
//
// Thread rule: Core::add_one() on the owning core; sum() from anywhere.
// Tested by src/server/resp/resp_commands_test.cc and
// src/server/http/admin/http_pages_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "observe/core_slots.h"
#include "observe/own_count.h"

namespace weir {

template <std::size_t kSize>
class CoreCounters {
 public:
  using Sum = std::array<std::uint64_t, kSize>;

  // Plain memory that begins as zeros (core_slots.h), on cache lines of its own: another core
  // must not wait for ours.
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
