// SharedHolds: units that are held in a store that nodes share (weir/holding_store.h), so that any
// node may commit what another has reserved.
//
// Charges of a batch that is held have one tag, so that they are kept in one place.
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
  bool is_slot = false;        // of one unit, which is released and never committed
  bool is_always = false;      // holds what does not fit, too

  enum class Outcome : std::uint8_t { kDenied, kHeld, kTooMany };
  Outcome outcome{};  // out
  Instant end{};      // out: by the store's clock; no other hold of the keys ends then
  Duration wait{0};   // out: of kTooMany, until a hold of the key lapses
  KeyHash lender{};   // out: of a slot that a node has lent, who that is (SharedToken)
};

struct CommitOrder {
  HoldToken token;
  Instant end{};  // HoldOrder::end
  std::int64_t cost = 0;
  HoldingStore::Work work = HoldingStore::Work::kIsDone;
  std::optional<KeyHash> lender{};  // HoldOrder::lender
  // Not 0 where nobody was told the end: the length of the hold, and the time since it was asked
  // for.
  Duration length{0};
  Duration age{0};

  HoldingStore::Commit outcome{};  // out
};

class SharedHolds {
 public:
  // Decides next to what is held of the keys.
  virtual Store& store() = 0;
  // As a kSpendAll whose costs are held in place of being charged.
  // REQUIRES: positive costs; the order outlives the batch
  virtual void reserve(Batch& batch, HoldOrder& order, Instant now) noexcept = 0;
  // As kLook, and says of each charge what is held of its key. The charges are kept in one place.
  // REQUIRES: `held` outlives the batch, and is as long
  virtual void look(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept = 0;
  // Of its charges the batch needs only names. REQUIRES: the order outlives the batch
  virtual void commit(Batch& batch, CommitOrder& order, Instant now) noexcept = 0;

 protected:
  ~SharedHolds() = default;
};

// Puts a batch elsewhere.
template <typename Put>
class StoreThat final : public Store {
 public:
  explicit StoreThat(Put put) : put_(std::move(put)) {}
  void decide(Batch& batch, Instant now) noexcept override { put_(batch, now); }

 private:
  Put put_;
};

}  // namespace weir
