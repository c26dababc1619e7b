// OwnCounters: this node's counters in memory, in which what is decided with others is entered
// as well, so that they are right when the node has to decide alone.
//
// Thread rule: one core. Tested by own_counters_test.cc.

#pragma once

#include "weir/store.h"

namespace weir {

class OwnCounters {
 public:
  // Answers at once, and outlives this. Null: nothing is entered.
  explicit OwnCounters(Store* memory) : memory_(memory) {}

  // What an answered batch has changed.
  void enter(const Batch& answered, Instant now);
  // Units admitted or refunded: all of them, or as many as the counter has left.
  void enter(const Charge& charge, Instant now);

 private:
  Store* memory_;
};

}  // namespace weir
