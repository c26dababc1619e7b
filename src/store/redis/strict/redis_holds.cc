#include "store/redis/strict/redis_holds.h"

#include <array>
#include <utility>

#include "base/assert.h"
#include "store/redis/strict/split_store.h"

namespace weir {
namespace {

ScriptOperation next_to_holds(Operation operation) {
  return static_cast<ScriptOperation>(static_cast<int>(operation) +
                                      static_cast<int>(ScriptOperation::kNextToHolds));
}

// Whether it ends a hold as if there had been no work. Who asked for that has nothing to add, and
// it may be asked twice.
bool charges_nothing(const Errand& errand) {
  return errand.operation == ScriptOperation::kCommit && errand.commit->cost == 0 &&
         errand.commit->work == HoldingStore::Work::kIsDone;
}

}  // namespace

class RedisHolds::Decider final : public Store {
 public:
  explicit Decider(RedisHolds& holds) : holds_(holds) {}

  void decide(Batch& batch, Instant now) noexcept override {
    if (!has_charges(batch)) return;
    holds_.send({.batch = &batch, .operation = next_to_holds(batch.operation)}, now);
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
  send({.batch = &batch, .hold = &order, .operation = ScriptOperation::kReserve}, now);
}

void RedisHolds::look(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept {
  send({.batch = &batch, .held = held.data(), .operation = ScriptOperation::kLookAtHolds}, now);
}

void RedisHolds::look_at_lent(Batch& batch, std::span<HoldingStore::Held> held,
                              Instant now) noexcept {
  send({.batch = &batch, .held = held.data(), .operation = ScriptOperation::kLookAtSlots}, now);
}

void RedisHolds::commit(Batch& batch, CommitOrder& order, Instant now) noexcept {
  send({.batch = &batch, .commit = &order, .operation = ScriptOperation::kCommit}, now);
}

void RedisHolds::send(Errand errand, Instant now) noexcept {
  errand.owner = this;
  errand.batch->error = StoreError::kNone;
  const bool is_end = charges_nothing(errand);
  if (is_end) ++ends_out_;
  if (sender_.add_batch(errand, now)) return;
  if (is_end) ask_again(errand, now);
  errand.batch->fail();
}

// REQUIRES: Redis may have its hold
void RedisHolds::ask_again(const Errand& errand, Instant since) noexcept {
  if (charges_nothing(errand)) {
    --ends_out_;
    const CommitOrder& order = *errand.commit;
    lost_.add(errand.batch->charges, order, since, order.end - redis_ahead_);
  } else if (errand.operation == ScriptOperation::kReserve) {
    const HoldOrder& order = *errand.hold;
    lost_.add(errand.batch->charges, {.token = order.token, .length = order.length}, since,
              since + order.length);
  }
}

bool RedisHolds::pack(Errand& errand, ChargeCall& words, Instant) {
  if (errand.operation == ScriptOperation::kReserve) {
    words.add_reserve(errand.batch->charges, *errand.hold);
  } else if (errand.operation == ScriptOperation::kCommit) {
    words.add_commit(errand.batch->charges, *errand.commit);
  } else {
    words.add(errand.operation, errand.batch->charges);
  }
  return true;
}

// If an errand is lost, its batch and its order may be gone: the answer is read, and dropped.
ChargeFailure RedisHolds::read(const Errand& errand, ChargeReplies& replies) {
  HoldOrder any_hold;
  CommitOrder any_commit;
  if (errand.operation == ScriptOperation::kCommit) {
    return replies.read_committed(errand.is_lost ? any_commit : *errand.commit);
  }
  const ChargeFailure failure = errand.is_lost
                                    ? replies.skip(errand.charges)
                                    : replies.read(errand.batch->charges, errand.batch->decisions);
  if (failure != ChargeFailure::kNone) return failure;
  if (errand.operation == ScriptOperation::kLookAtHolds ||
      errand.operation == ScriptOperation::kLookAtSlots) {
    std::array<HoldingStore::Held, Batch::kChargesMax> nobodys;
    return replies.read_held({errand.is_lost ? nobodys.data() : errand.held, errand.charges});
  }
  if (errand.operation != ScriptOperation::kReserve) return failure;
  return replies.read_reserved(errand.is_lost ? any_hold : *errand.hold);
}

ChargeFailure RedisHolds::answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                                   Instant now) {
  redis_ahead_ = replies.time() - asked_at;
  const ChargeFailure failure = read(errand, replies);
  if (failure != ChargeFailure::kNone || errand.is_lost) return failure;
  if (charges_nothing(errand)) --ends_out_;
  if (errand.operation >= ScriptOperation::kNextToHolds) own_counters_.enter(*errand.batch, now);
  errand.batch->on_done(*errand.batch);
  return ChargeFailure::kNone;
}

void RedisHolds::lost(const Errand& errand, Instant) {
  ask_again(errand, errand.since);
  errand.batch->fail();
}

}  // namespace weir
