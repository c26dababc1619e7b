// OwedUnits: where a core notes what it has admitted and Redis has not charged, so that somebody
// else can push it if the core's process dies.
//
// Thread rule: its core. Tested by tests/redis/admitted_alone_test.cc and, as nginx's workers have
// it, by src/nginx/zone/owed_ledger_test.cc.

#pragma once

#include <atomic>
#include <cstdint>

#include "weir/store.h"

namespace weir {

class OwedUnits {
 public:
  // One key's. Its core alone writes; who reads it comes after that core.
  struct Note {
    std::atomic<std::int64_t> units{0};
    std::atomic<std::int64_t> entered{0};  // of them: those that this node's counters have
  };

  // For the key of the charge, without units. Null: there is no room, and it goes without.
  virtual Note* open(const Charge& charge) noexcept = 0;
  // REQUIRES: open() has returned it
  virtual void close(Note& note) noexcept = 0;

 protected:
  ~OwedUnits() = default;
};

}  // namespace weir
