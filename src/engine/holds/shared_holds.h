// SharedHolds: units that a store holds for all nodes that share it (weir/holding_store.h). Any
// node may commit what another has reserved.
//
// All charges of a held batch have the same tag, so that one machine keeps them.
//
// Thread rule: one core. Implemented by store/redis/strict, tested by redis_holds_test.cc there.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "weir/holding_store.h"
#include "weir/store.h"

namespace weir {

struct HoldOrder {
  HoldToken token;
  Duration length{0};          // > 0
  std::int64_t holds_max = 1;  // of one key
  std::int64_t due = 0;        // units that a lapse charges
  bool is_slot = false;        // a slot: one unit, released and never committed
  bool is_always = false;      // holds also what does not fit

  enum class Outcome : std::uint8_t { kDenied, kHeld, kTooMany };
  Outcome outcome{};  // out
  Instant end{};      // out: by the store's clock; no other hold of the keys ends then
  Duration wait{0};   // out: if kTooMany, until a hold of the key lapses
  KeyHash lender{};   // out: if a node lent the slot, which one (SharedToken)
};

struct CommitOrder {
  HoldToken token;
  Instant end{};  // HoldOrder::end
  std::int64_t cost = 0;
  HoldingStore::Work work = HoldingStore::Work::kIsDone;
  std::optional<KeyHash> lender{};  // HoldOrder::lender
  // If nobody was told the end: the length of the hold, and the time since it was asked for. Else
  // 0.
  Duration length{0};
  Duration age{0};

  HoldingStore::Commit outcome{};  // out
};

class SharedHolds {
 public:
  // Decides next to the units that are held of the keys.
  virtual Store& store() = 0;
  // As a kSpendAll that holds the costs instead of charging them.
  // REQUIRES: positive costs; the order outlives the batch
  virtual void reserve(Batch& batch, HoldOrder& order, Instant now) noexcept = 0;
  // As kLook; also says what is held of each charge's key. One machine keeps all charges.
  // REQUIRES: `held` outlives the batch, and is as long
  virtual void look(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept = 0;
  // The batch needs only the names of its charges. REQUIRES: the order outlives the batch
  virtual void commit(Batch& batch, CommitOrder& order, Instant now) noexcept = 0;

 protected:
  ~SharedHolds() = default;
};

// A store that passes each batch to `put`.
template <typename Put>
class StoreThat final : public Store {
 public:
  explicit StoreThat(Put put) : put_(std::move(put)) {}
  void decide(Batch& batch, Instant now) noexcept override { put_(batch, now); }

 private:
  Put put_;
};

}  // namespace weir
