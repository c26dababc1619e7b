#include "store/redis/strict/redis_store.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir {

RedisStore::RedisStore(const RedisStoreOptions& options, RedisClient& client, Reactor& reactor,
                       RedisListener& listener)
    : options_(options),
      calls_(options, Breaker::kFailuresMax, client, reactor, listener, *this),
      denials_(options.denied_keys),
      own_counters_(options.own_counters, options.live_nodes),
      round_end_(reactor.make_alarm([this](Instant now) { flush(now); })),
      deadlines_(reactor.make_alarm([this](Instant now) { ring(now); })) {
  calls_.queue().reserve(kWaitingMax);
}

RedisStore::~RedisStore() = default;

void RedisStore::give_up() {
  calls_.give_up([](const Waiting& waiting) {
    if (waiting.batch != nullptr) waiting.batch->fail();
  });
}

// ---- into the queue ----

void RedisStore::decide(Batch& batch, Instant now) noexcept {
  WEIR_ASSERT(batch.charges.size() == batch.decisions.size());
  WEIR_ASSERT(batch.charges.size() <= Batch::kChargesMax);
  batch.error = StoreError::kNone;
  if (batch.charges.empty()) return batch.on_done(batch);
  forget_denials(batch.charges, batch.operation);
  if (answer_from_memory(batch, now)) return;
  if (calls_.is_cut()) return fail(batch, RedisFailure::kDisconnected, calls_.link().reason, now);
  if (!breaker().closed()) return fail(batch, RedisFailure::kNotAsked, {}, now);
  auto& queue = calls_.queue();
  if (queue.size() >= kWaitingMax) return fail(batch, RedisFailure::kOverloaded, {}, now);
  queue.push_back({.batch = &batch,
                   .since = now,
                   .deadline = std::min(now + options_.deadline, batch.give_up_at),
                   .slot = calls_.slot_for(batch.charges.front()),
                   .charges = static_cast<std::uint8_t>(batch.charges.size()),
                   .turn = 0});
  charges_waiting_ += batch.charges.size();
  round_end_->set(Instant{});
}

// Memory does not know the other charges of a group, and a look wants more than the verdict.
bool RedisStore::answer_from_memory(Batch& batch, Instant now) noexcept {
  if (!spends(batch.operation) || batch.charges.size() != 1) return false;
  const auto denial = denials_.find(batch.charges[0], now, batch.operation);
  if (!denial) return false;
  batch.decisions[0] = *denial;
  ++remembered_;
  batch.on_done(batch);
  return true;
}

// A reset or a refund may free the key, and a charge prolongs its denials.
void RedisStore::forget_denials(std::span<const Charge> charges, Operation operation) {
  for (const Charge& charge : charges) {
    const bool prolongs =
        operation == Operation::kCharge && charge.quota->algorithm() != Algorithm::kFixedWindow;
    if (operation == Operation::kReset || charge.cost < 0 || prolongs) denials_.forget(charge.key);
  }
}

void RedisStore::forget_debts(const Batch& answered) {
  for (std::size_t index = 0; index < answered.charges.size(); ++index) {
    if (answered.decisions[index].allowed()) denials_.forget_debt(answered.charges[index].key);
  }
}

// ---- calls ----

// Sends what waits, at the end of a round of the loop, or when it has gathered for long. A batch
// that is too late is not sent: Redis would charge it, and it would fail all the same.
void RedisStore::flush(Instant now) {
  if (!breaker().closed()) fail_waiting(RedisFailure::kNotAsked, Instant::max(), now);
  fail_waiting(RedisFailure::kTimedOut, now, now);
  const bool is_time = now >= gather_end();
  calls_.send_queue(now, [&] { return is_time || is_worth_a_call(); });
  if (calls_.is_stuck()) fail_waiting(RedisFailure::kOverloaded, Instant::max(), now);
  if (!calls_.is_blocked()) round_end_->set(gather_end());
  set_alarm();
}

// In a cluster each slot has its own calls, which cannot gather for each other.
bool RedisStore::is_worth_a_call() const {
  return calls_.out() == 0 || charges_waiting_ >= kChargesWorthACall || calls_.is_cluster();
}

// A batch that has little time does not spend most of it in the queue.
Instant RedisStore::gather_end() {
  constexpr int kPart = 4;
  Instant end = Instant::max();
  for (const Waiting& waiting : calls_.queue()) {
    const Duration left = waiting.deadline - waiting.since;
    end = std::min(end, waiting.since + std::min(kGatherMax, left / kPart));
  }
  return end;
}

bool RedisStore::pack(const Waiting& waiting, Calls::Call& call, Instant) {
  const bool is_first = call.items.empty();
  if (options_.time == TimeSource::kCaller) {
    if (!is_first && waiting.since != call.items.front().since) return false;
    call.words.set_time(waiting.since);
  }
  if (!call.words.has_room(waiting.charges)) return false;
  call.words.add(static_cast<ScriptOperation>(waiting.batch->operation), waiting.batch->charges);
  call.deadline = is_first ? waiting.deadline : std::max(call.deadline, waiting.deadline);
  call.first_deadline = std::min(call.first_deadline, waiting.deadline);
  charges_waiting_ -= waiting.charges;
  return true;
}

void RedisStore::landed(Instant) {
  if (!calls_.queue().empty()) round_end_->set(Instant{});
  set_alarm();
}

// ---- answers ----

void RedisStore::answered(const Waiting& waiting, ChargeReplies& replies, const Calls::Call&,
                          Instant now) {
  if (waiting.batch == nullptr) {
    static_cast<void>(replies.skip(waiting.charges));
    return;
  }
  Batch& batch = *waiting.batch;
  const ChargeFailure failure = replies.read(batch.charges, batch.decisions);
  if (failure != ChargeFailure::kNone) return fail(batch, failure_of(failure), {}, now);
  note_denials(batch, waiting.since);
  forget_denials(batch.charges, batch.operation);
  forget_debts(batch);
  own_counters_.enter(batch, now);
  batch.on_done(batch);
}

// A key that comes twice in an all-or-nothing batch may be denied for that alone.
void RedisStore::note_denials(const Batch& batch, Instant asked_at) {
  if (!spends(batch.operation)) return;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const KeyHash& key = batch.charges[index].key;
    const bool comes_once = std::ranges::count(batch.charges, key, &Charge::key) == 1;
    if (batch.operation == Operation::kSpendAll && !comes_once) continue;
    denials_.note(batch.charges[index], batch.decisions[index], asked_at, batch.operation);
  }
}

void RedisStore::lost(const Waiting& waiting, RedisFailure failure, std::string_view detail,
                      Instant now) {
  if (waiting.batch != nullptr) fail(*waiting.batch, failure, detail, now);
}

void RedisStore::fail(Batch& batch, RedisFailure failure, std::string_view detail,
                      Instant now) noexcept {
  calls_.note(failure, detail, now);
  batch.fail();
}

// Fails those that are due by then. Their callbacks may decide again, behind those that wait.
void RedisStore::fail_waiting(RedisFailure failure, Instant due_by, Instant now) {
  calls_.lose_queue(failure, now, [&](const Waiting& waiting) {
    if (waiting.deadline > due_by) return false;
    charges_waiting_ -= waiting.charges;
    return true;
  });
}

// ---- time ----

// Fails what has waited too long; a late reply answers nothing.
void RedisStore::ring(Instant now) {
  fail_waiting(RedisFailure::kTimedOut, now, now);
  calls_.for_each_out([&](Calls::Call& call) {
    if (call.first_deadline > now) return;
    call.first_deadline = Instant::max();
    for (Waiting& waiting : call.items) {
      if (waiting.batch == nullptr) continue;
      if (waiting.deadline <= now) {
        fail(*std::exchange(waiting.batch, nullptr), RedisFailure::kTimedOut, {}, now);
      } else {
        call.first_deadline = std::min(call.first_deadline, waiting.deadline);
      }
    }
  });
  set_alarm();
}

void RedisStore::set_alarm() {
  Instant next = Instant::max();
  for (const Waiting& waiting : calls_.queue()) next = std::min(next, waiting.deadline);
  calls_.for_each_out([&](const Calls::Call& call) { next = std::min(next, call.first_deadline); });
  deadlines_->set(next);
}

}  // namespace weir
