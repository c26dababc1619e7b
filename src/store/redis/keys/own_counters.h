// OwnCounters: enters shared decisions into this node's counters in memory, so that these are right
// when the node has to decide alone.
//
// Thread rule: one core. Tested by own_counters_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

class OwnCounters {
 public:
  using LiveNodes = std::function<std::int64_t()>;

  // `memory` outlives this. Null: nothing is entered. A bucket counts by this node's share among
  // `live_nodes`, as the node reads it when it decides alone. So does a key that may become a
  // bucket when its quota switches. REQUIRES: `memory` is null, or it answers at once
  explicit OwnCounters(Store* memory, LiveNodes live_nodes = {});

  // Enters the changes of an answered batch, and what Redis said is left.
  void enter(const Batch& answered, Instant now);
  // Enters units admitted or refunded: all of them, or as many as the counter has left.
  void enter(const Charge& charge, Instant now) { enter_units(charge, now); }
  // Does the same, and then lower().
  void enter(const Charge& charge, const Decision& said, Instant now) {
    lower_from(enter_units(charge, now), charge, said, now);
  }

  // Redis has said how much is left of the key: this node's share has at most its part of that
  // left, rounded up. A share is never raised: what lowered it fades as this node's own units do.
  // Nothing is lowered for a window that Redis is about to forget.
  void lower(const Charge& charge, const Decision& said, Instant now) {
    lower_from(std::nullopt, charge, said, now);
  }

 private:
  // Units left of this node's share of a key; nullopt if the counter has to be asked.
  using Left = std::optional<std::int64_t>;

  std::int64_t nodes() const { return live_nodes_ ? live_nodes_() : 1; }
  Left enter_answer(const Batch& answered, std::size_t index, Instant now);
  void enter_as(Operation operation, const Charge& charge, Instant now);
  Left enter_units(const Charge& charge, Instant now);
  void lower_from(Left left, const Charge& charge, const Decision& said, Instant now);

  Store* memory_;
  LiveNodes live_nodes_;
};

}  // namespace weir
