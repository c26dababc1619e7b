// OwedUnits: a core's notes of units that it admitted and Redis has not charged. If the core's
// process dies, another process pushes them.
//
// Thread rule: its core. Tested by tests/redis/admitted_alone_test.cc and, for nginx's workers, by
// src/nginx/zone/owed_ledger_test.cc.

#pragma once

#include <atomic>
#include <cstdint>

#include "weir/store.h"

namespace weir {

class OwedUnits {
 public:
  // One key's note. Only its core writes it; another core reads it once that core is gone.
  struct Note {
    std::atomic<std::int64_t> units{0};
    std::atomic<std::int64_t> entered{0};  // of `units`, those that this node's counters have
  };

  // A note for the charge's key, without units. Null if there is no room: the key has no note then.
  virtual Note* open(const Charge& charge) noexcept = 0;
  // REQUIRES: open() has returned it
  virtual void close(Note& note) noexcept = 0;

 protected:
  ~OwedUnits() = default;
};

}  // namespace weir
