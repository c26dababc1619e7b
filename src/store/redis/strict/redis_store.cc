#include "store/redis/strict/redis_store.h"

#include <algorithm>

namespace weir {
namespace {

// A reset or a refund may free the key. A charge prolongs its denials.
bool ends_denials(const Charge& charge, Operation operation) {
  const bool prolongs = operation == Operation::kCharge && !charge.quota->is_fixed();
  return operation == Operation::kReset || charge.cost < 0 || prolongs;
}

}  // namespace

RedisStore::RedisStore(const RedisStoreOptions& options, RedisSender& sender)
    : sender_(sender),
      denials_(options.denied_keys),
      own_counters_(options.own_counters, options.live_nodes) {}

void RedisStore::decide(Batch& batch, Instant now) noexcept {
  if (!has_charges(batch)) return;
  for (const Charge& charge : batch.charges) {
    if (ends_denials(charge, batch.operation)) denials_.forget(charge.key);
  }
  if (answer_from_memory(batch, now)) return;
  const Errand errand{
      .owner = this, .batch = &batch, .operation = static_cast<ScriptOperation>(batch.operation)};
  if (!sender_.add_batch(errand, now)) batch.fail();
}

// Memory does not know the other charges of a group, and a look needs more than the verdict.
bool RedisStore::answer_from_memory(Batch& batch, Instant now) noexcept {
  if (!spends(batch.operation) || batch.charges.size() != 1) return false;
  const auto denial = denials_.find(batch.charges[0], now, batch.operation);
  if (!denial) return false;
  batch.decisions[0] = *denial;
  ++remembered_;
  batch.on_done(batch);
  return true;
}

// ---- answers ----

bool RedisStore::pack(Errand& errand, ChargeCall& words, Instant) {
  words.add(errand.operation, errand.batch->charges);
  return true;
}

ChargeFailure RedisStore::answered(const Errand& errand, ChargeReplies& replies, Instant,
                                   Instant now) {
  if (errand.is_lost) return replies.skip(errand.charges);
  Batch& batch = *errand.batch;
  const ChargeFailure failure = replies.read(batch.charges, batch.decisions);
  if (failure != ChargeFailure::kNone) return failure;
  remember(batch, errand.since);
  own_counters_.enter(batch, now);
  batch.on_done(batch);
  return ChargeFailure::kNone;
}

// If a key comes twice in an all-or-nothing batch, that alone may deny it.
void RedisStore::remember(const Batch& batch, Instant asked_at) {
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    const bool is_for_itself =
        batch.operation == Operation::kSpendAll
            ? std::ranges::count(batch.charges, charge.key, &Charge::key) == 1
            : spends(batch.operation);
    if (is_for_itself) denials_.note(charge, batch.decisions[index], asked_at, batch.operation);
    if (ends_denials(charge, batch.operation)) denials_.forget(charge.key);
    if (batch.decisions[index].allowed()) denials_.forget_debt(charge.key);
  }
}

void RedisStore::lost(const Errand& errand, Instant) { errand.batch->fail(); }

}  // namespace weir
