#include "store/redis/strict/redis_holds.h"

#include <array>
#include <utility>

#include "base/assert.h"
#include "base/if_memory.h"
#include "store/redis/strict/split_store.h"

namespace weir {
namespace {

ScriptOperation next_to_holds(Operation operation) {
  return static_cast<ScriptOperation>(static_cast<int>(operation) +
                                      static_cast<int>(ScriptOperation::kNextToHolds));
}

}  // namespace

class RedisHolds::Decider final : public Store {
 public:
  explicit Decider(RedisHolds& holds) : holds_(holds) {}

  void decide(Batch& batch, Instant now) noexcept override {
    if (has_charges(batch)) holds_.send(batch, next_to_holds(batch.operation), {}, now);
  }

 private:
  RedisHolds& holds_;
};

RedisHolds::RedisHolds(const RedisStoreOptions& options, RedisSender& sender, Reactor& reactor)
    : sender_(sender),
      own_counters_(options.own_counters, options.live_nodes),
      store_(std::make_unique<Decider>(*this)),
      lost_(*this, reactor) {
  if (options.spread == KeySpread::kCluster) {
    store_ = std::make_unique<SplitStore>(std::move(store_), reactor);
  }
}

void RedisHolds::reserve(Batch& batch, HoldOrder& order, Instant now) noexcept {
  send(batch, ScriptOperation::kReserve, {.hold = &order}, now);
}

void RedisHolds::look(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept {
  send(batch, ScriptOperation::kLookAtHolds, {.held = held}, now);
}

void RedisHolds::look_at_lent(Batch& batch, std::span<HoldingStore::Held> held,
                              Instant now) noexcept {
  send(batch, ScriptOperation::kLookAtSlots, {.held = held}, now);
}

void RedisHolds::commit(Batch& batch, CommitOrder& order, Instant now) noexcept {
  send(batch, ScriptOperation::kCommit, {.commit = &order}, now);
}

void RedisHolds::send(Batch& batch, ScriptOperation operation, Order order, Instant now) noexcept {
  batch.error = StoreError::kNone;
  Errand errand{.owner = this, .batch = &batch, .operation = operation};
  const bool has_order = operation < ScriptOperation::kNextToHolds;
  const bool has_memory = !has_order || has_memory_for([&] {
    if (free_.empty()) {
      free_.reserve(orders_.size() + 1);  // so that forgetting takes no memory
      orders_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(orders_.size() - 1));
    }
    errand.number = free_.back();
    free_.pop_back();
    orders_[errand.number] = order;
  });
  if (has_memory && sender_.add_batch(errand, now)) return;
  forget(errand);
  batch.fail();
}

void RedisHolds::forget(const Errand& errand) {
  if (errand.number == 0) return;
  orders_[errand.number] = {};
  free_.push_back(errand.number);
}

bool RedisHolds::pack(Errand& errand, ChargeCall& words, Instant) {
  const Order& order = orders_[errand.number];
  if (order.hold != nullptr) {
    words.add_reserve(errand.batch->charges, *order.hold);
  } else if (order.commit != nullptr) {
    words.add_commit(errand.batch->charges, *order.commit);
  } else {
    words.add(errand.operation, errand.batch->charges);
  }
  return true;
}

// If an errand is lost, its batch and its order may be gone: the answer is read, and dropped.
ChargeFailure RedisHolds::read(const Errand& errand, ChargeReplies& replies) {
  HoldOrder any_hold;
  CommitOrder any_commit;
  const Order& order = orders_[errand.number];
  if (errand.operation == ScriptOperation::kCommit) {
    return replies.read_committed(errand.is_lost ? any_commit : *order.commit);
  }
  const ChargeFailure failure = errand.is_lost
                                    ? replies.skip(errand.charges)
                                    : replies.read(errand.batch->charges, errand.batch->decisions);
  if (failure != ChargeFailure::kNone) return failure;
  if (errand.operation == ScriptOperation::kLookAtHolds ||
      errand.operation == ScriptOperation::kLookAtSlots) {
    std::array<HoldingStore::Held, Batch::kChargesMax> nobodys;
    return replies.read_held(errand.is_lost ? std::span(nobodys).first(errand.charges)
                                            : order.held);
  }
  if (errand.operation != ScriptOperation::kReserve) return failure;
  return replies.read_reserved(errand.is_lost ? any_hold : *order.hold);
}

ChargeFailure RedisHolds::answered(const Errand& errand, ChargeReplies& replies, Instant,
                                   Instant now) {
  const ChargeFailure failure = read(errand, replies);
  if (failure != ChargeFailure::kNone || errand.is_lost) return failure;
  if (errand.number == 0) own_counters_.enter(*errand.batch, now);
  forget(errand);
  errand.batch->on_done(*errand.batch);
  return ChargeFailure::kNone;
}

void RedisHolds::lost(const Errand& errand, Instant) {
  if (errand.operation == ScriptOperation::kReserve) {
    lost_.add(errand.batch->charges, *orders_[errand.number].hold, errand.since);
  }
  forget(errand);
  errand.batch->fail();
}

}  // namespace weir
