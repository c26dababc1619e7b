#include "store/redis/redis_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/make_if_memory.h"

namespace weir {
// One call, from when it is filled until the last of its batches is answered.
class RedisStore::Flight final : public RedisCall {
 public:
  Flight(RedisStore& store, std::string_view prefix) : call(prefix), store_(store) {
    batches.reserve(ChargeCall::kChargesMax);
  }

  void replied(const resp::Reply& reply, Instant now) noexcept override {
    store_.read(*this, reply, now);
  }
  void failed(CallFailure why, Instant now) noexcept override {
    store_.fail(*this, failure_of(why), {}, now);
  }

  bool is_probe() const { return batches.empty(); }

  ChargeCall call;
  std::vector<Waiting> batches;  // in the order of the call; a probe has none
  std::uint16_t slot = 0;
  Instant first_deadline;  // of those that still wait
  Instant last_deadline;   // of all
  enum class Phase : std::uint8_t { kFree, kFlying, kReloading } phase = Phase::kFree;

 private:
  RedisStore& store_;
};

RedisStore::RedisStore(const RedisStoreOptions& options, RedisClient& client, Reactor& reactor,
                       RedisStoreListener& listener)
    : options_(options),
      client_(client),
      troubles_(Breaker(options.seed), reactor, listener, counts_.failures,
                [this](Instant now) { probe(now); }),
      denials_(options.denied_keys),
      own_counters_(options.own_counters),
      round_end_(reactor.make_alarm([this](Instant now) { flush(now); })),
      deadlines_(reactor.make_alarm([this](Instant now) { ring(now); })) {
  waiting_.reserve(kWaitingMax);
  flights_.reserve(kFlightsMax);
}

RedisStore::~RedisStore() {
  for (const auto& flight : flights_) client_.forget(*flight);
}

void RedisStore::give_up() {
  const auto fail_all = [](const std::vector<Waiting>& batches) {
    for (const Waiting& waiting : batches) {
      if (waiting.batch == nullptr) continue;
      waiting.batch->error = StoreError::kUnavailable;
      waiting.batch->on_done(*waiting.batch);
    }
  };
  for (const auto& flight : flights_) client_.forget(*flight);
  for (const auto& flight : flights_) {  // one that has landed keeps what it had
    if (flight->phase != Flight::Phase::kFree) fail_all(std::exchange(flight->batches, {}));
  }
  fail_all(std::exchange(waiting_, {}));
}

// ---- asking ----

void RedisStore::decide(Batch& batch, Instant now) noexcept {
  WEIR_ASSERT(batch.charges.size() == batch.decisions.size());
  WEIR_ASSERT(batch.charges.size() <= Batch::kChargesMax);
  batch.error = StoreError::kNone;
  if (batch.charges.empty()) return batch.on_done(batch);
  forget_denials(batch.charges, batch.operation);
  if (answer_from_memory(batch, now)) return;
  const bool one_server = options_.spread == KeySpread::kOneServer;
  if (one_server && client_.state().phase != LinkState::Phase::kConnected) {
    return fail(batch, RedisFailure::kDisconnected, client_.state().reason, now);
  }
  if (!breaker().closed()) return fail(batch, RedisFailure::kNotAsked, {}, now);
  if (waiting_.size() >= kWaitingMax) return fail(batch, RedisFailure::kOverloaded, {}, now);
  const std::uint16_t slot = one_server ? std::uint16_t{0} : slot_of(batch.charges.front());
  const Instant deadline = std::min(now + options_.deadline, batch.give_up_at);
  waiting_.push_back({.batch = &batch,
                      .since = now,
                      .deadline = deadline,
                      .slot = slot,
                      .place = 0,
                      .charges = static_cast<std::uint8_t>(batch.charges.size())});
  charges_waiting_ += batch.charges.size();
  round_end_->set(Instant{});
}

// A group's other charges are not known; a look wants to know more than the verdict.
bool RedisStore::answer_from_memory(Batch& batch, Instant now) noexcept {
  if (!spends(batch.operation) || batch.charges.size() != 1) return false;
  const auto denial = denials_.find(batch.charges[0], now);
  if (!denial) return false;
  batch.decisions[0] = *denial;
  ++counts_.remembered;
  batch.on_done(batch);
  return true;
}

// Of keys that may be freed.
void RedisStore::forget_denials(std::span<const Charge> charges, Operation operation) {
  for (const Charge& charge : charges) {
    if (operation == Operation::kReset || charge.cost < 0) denials_.forget(charge.key);
  }
}

// Sends what waits, at the end of a round of the loop, or when it has gathered for long. Not
// what is too late: it would be charged, and fail.
void RedisStore::flush(Instant now) {
  if (!breaker().closed()) fail_waiting(RedisFailure::kNotAsked, Instant::max(), now);
  fail_waiting(RedisFailure::kTimedOut, now, now);
  if (options_.spread == KeySpread::kCluster) sort_by_slot();
  const bool is_time = now >= gather_end();
  bool is_blocked = flying_ == kFlightsMax;
  std::size_t sent = 0;
  while (sent < waiting_.size() && (is_time || is_worth_a_call())) {
    Flight* const flight = free_flight();
    is_blocked = flight == nullptr;
    if (is_blocked) break;
    sent = fill(*flight, sent);
    send(*flight, now);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent));
  // Without a free flight, or memory for one, only a landing helps.
  if (is_blocked && flying_ == 0) fail_waiting(RedisFailure::kOverloaded, Instant::max(), now);
  if (!is_blocked) round_end_->set(gather_end());
  set_alarm();
}

// Those of one slot stay in the order they came, or a key's charges would overtake each other.
// By their places, as std::stable_sort allocates.
void RedisStore::sort_by_slot() {
  static_assert(kWaitingMax <= std::numeric_limits<std::uint16_t>::max());
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    waiting_[i].place = static_cast<std::uint16_t>(i);
  }
  std::ranges::sort(waiting_, {},
                    [](const Waiting& waiting) { return std::pair(waiting.slot, waiting.place); });
}

// In a cluster each slot has its own calls, which cannot gather for each other.
bool RedisStore::is_worth_a_call() const {
  return flying_ == 0 || charges_waiting_ >= kChargesWorthACall ||
         options_.spread == KeySpread::kCluster;
}

// Who has little time does not spend most of it here.
Instant RedisStore::gather_end() const {
  constexpr int kPart = 4;
  Instant end = Instant::max();
  for (const Waiting& waiting : waiting_) {
    const Duration left = waiting.deadline - waiting.since;
    end = std::min(end, waiting.since + std::min(kGatherMax, left / kPart));
  }
  return end;
}

RedisStore::Flight* RedisStore::free_flight() {
  for (const auto& flight : flights_) {
    if (flight->phase == Flight::Phase::kFree) return flight.get();
  }
  if (flights_.size() == kFlightsMax) return nullptr;
  auto made = make_if_memory<Flight>(*this, options_.prefix);
  return made == nullptr ? nullptr : flights_.emplace_back(std::move(made)).get();
}

// With as many as go together, from `first` on. Returns who comes next.
std::size_t RedisStore::fill(Flight& flight, std::size_t first) {
  const Waiting front = waiting_[first];
  flight.call.clear();
  flight.batches.clear();
  flight.slot = front.slot;
  flight.first_deadline = flight.last_deadline = front.deadline;
  if (options_.time == TimeSource::kCaller) flight.call.set_time(front.since);
  for (; first < waiting_.size(); ++first) {
    const Waiting& waiting = waiting_[first];
    const bool same_time = options_.time == TimeSource::kRedis || waiting.since == front.since;
    if (waiting.slot != front.slot || !same_time) break;
    if (!flight.call.has_room(waiting.charges)) break;
    flight.call.add(static_cast<ScriptOperation>(waiting.batch->operation), waiting.batch->charges);
    flight.batches.push_back(waiting);
    flight.first_deadline = std::min(flight.first_deadline, waiting.deadline);
    flight.last_deadline = std::max(flight.last_deadline, waiting.deadline);
    charges_waiting_ -= waiting.charges;
  }
  return first;
}

void RedisStore::send(Flight& flight, Instant now) {
  flight.phase = Flight::Phase::kFlying;
  ++flying_;
  ++counts_.calls;
  counts_.charges += flight.call.charges();
  const auto refusal =
      client_.send(flight.call.words(), flight.slot, flight.last_deadline, flight, now);
  if (refusal) fail(flight, failure_of(*refusal), client_.state().reason, now);
}

void RedisStore::landed(Flight& flight) {
  flight.phase = Flight::Phase::kFree;
  --flying_;
  if (!waiting_.empty()) round_end_->set(Instant{});
}

// ---- answers ----

void RedisStore::read(Flight& flight, const resp::Reply& reply, Instant now) {
  if (reply.error_code() == "NOSCRIPT" && flight.phase == Flight::Phase::kFlying) {
    return load_script(flight, now);
  }
  if (reply.is_error()) return fail(flight, failure_of_error(reply), reply.text(), now);
  ChargeReplies replies(reply);
  if (replies.time() == Instant{}) {
    return fail(flight, RedisFailure::kOther, "a reply that the script does not give", now);
  }
  troubles_.answered(now);
  for (const Waiting& waiting : flight.batches) answer(waiting, replies, now);
  landed(flight);
}

// Redis has no memory of scripts after a restart or a failover. That it was not there
// means that nothing was charged, so the same call goes again, with the text.
void RedisStore::load_script(Flight& flight, Instant now) {
  flight.phase = Flight::Phase::kReloading;
  ++counts_.reloads;
  const auto refusal =
      client_.send(flight.call.words_with_text(), flight.slot, flight.last_deadline, flight, now);
  if (refusal) fail(flight, failure_of(*refusal), client_.state().reason, now);
}

void RedisStore::answer(const Waiting& waiting, ChargeReplies& replies, Instant now) {
  if (waiting.batch == nullptr) {
    static_cast<void>(replies.skip(waiting.charges));
    return;
  }
  Batch& batch = *waiting.batch;
  const ChargeFailure failure = replies.read(batch.charges, batch.decisions);
  if (failure != ChargeFailure::kNone) return fail(batch, failure_of(failure), {}, now);
  for (std::size_t index = 0; spends(batch.operation) && index < batch.charges.size(); ++index) {
    denials_.note(batch.charges[index], batch.decisions[index], waiting.since);
  }
  forget_denials(batch.charges, batch.operation);
  own_counters_.enter(batch, now);
  batch.on_done(batch);
}

void RedisStore::fail(Flight& flight, RedisFailure failure, std::string_view detail, Instant now) {
  if (flight.is_probe()) {
    troubles_.probe_failed(failure, now);
  } else {
    troubles_.call_failed(failure, now);
  }
  for (const Waiting& waiting : flight.batches) {
    if (waiting.batch != nullptr) fail(*waiting.batch, failure, detail, now);
  }
  landed(flight);
  set_alarm();
}

void RedisStore::fail(Batch& batch, RedisFailure failure, std::string_view detail,
                      Instant now) noexcept {
  troubles_.note(failure, detail, now);
  batch.error = StoreError::kUnavailable;
  batch.on_done(batch);
}

// Those that are due by then. Their callbacks may ask again, behind those that wait.
void RedisStore::fail_waiting(RedisFailure failure, Instant due_by, Instant now) {
  const std::size_t waiting_now = waiting_.size();
  for (std::size_t index = 0; index < waiting_now; ++index) {
    if (waiting_[index].deadline > due_by) continue;
    charges_waiting_ -= waiting_[index].charges;
    fail(*std::exchange(waiting_[index].batch, nullptr), failure, {}, now);
  }
  std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.batch == nullptr; });
}

// ---- time ----

// What has waited too long; late replies find nobody.
void RedisStore::ring(Instant now) {
  fail_waiting(RedisFailure::kTimedOut, now, now);
  for (const auto& flight : flights_) {
    if (flight->phase == Flight::Phase::kFree || flight->first_deadline > now) continue;
    flight->first_deadline = Instant::max();
    for (Waiting& waiting : flight->batches) {
      if (waiting.batch == nullptr) continue;
      if (waiting.deadline <= now) {
        fail(*std::exchange(waiting.batch, nullptr), RedisFailure::kTimedOut, {}, now);
      } else {
        flight->first_deadline = std::min(flight->first_deadline, waiting.deadline);
      }
    }
  }
  set_alarm();
}

void RedisStore::set_alarm() {
  Instant next = Instant::max();
  for (const Waiting& waiting : waiting_) next = std::min(next, waiting.deadline);
  for (const auto& flight : flights_) {
    if (flight->phase != Flight::Phase::kFree) next = std::min(next, flight->first_deadline);
  }
  deadlines_->set(next);
}

void RedisStore::probe(Instant now) {
  Flight* const flight = free_flight();
  if (flight == nullptr) return troubles_.probe_failed(RedisFailure::kOverloaded, now);
  const Charge charge = troubles_.take_probe();
  flight->call.clear();
  flight->batches.clear();
  flight->call.add(ScriptOperation::kSpendEach, {&charge, 1});
  flight->slot = slot_of(charge);
  flight->first_deadline = Instant::max();
  flight->last_deadline = now + options_.deadline;
  send(*flight, now);
}

}  // namespace weir
