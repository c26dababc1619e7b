#include "store/redis/leased_store.h"

#include <algorithm>
#include <utility>

#include "algo/wide_math.h"
#include "base/assert.h"

namespace weir {
namespace {

// Keys that are used less are decided in Redis: most come once, and leases of logs and
// buckets cost a little more than is spent.
constexpr std::int64_t kBusyDemand = 4;
// Keys that are asked to make room for another.
constexpr int kCandidates = 16;

bool spends(Operation operation) {
  return operation == Operation::kSpendEach || operation == Operation::kSpendAll;
}

// 0: leases are not for it.
Duration length_for(const Quota& quota) {
  constexpr int kWindowPart = 8;  // so that what is left over finds others within its window
  constexpr int kPart = 16;
  const Duration window = quota.window();
  if (quota.limit() == 0) return Duration{0};
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow:
    case Algorithm::kSlidingWindow: return std::min(LeasedStore::kLengthMax, window / kWindowPart);
    case Algorithm::kSlidingLog: return std::min(LeasedStore::kLengthMax, window / kPart);
    case Algorithm::kTokenBucket: {
      const Duration fills_in{algo::mul_div_floor(quota.capacity(), window.count(), quota.limit())};
      return std::min({LeasedStore::kLengthMax, window, fills_in / kPart});
    }
    case Algorithm::kExponentialBackoff: break;
  }
  return Duration{0};
}

bool is_for_leases(const Charge& charge) {
  const std::int64_t most = std::min(LeasedStore::kUnitsMax, charge.quota->capacity());
  return charge.cost >= 0 && charge.cost <= most &&
         length_for(*charge.quota) >= LeasedStore::kLengthMin;
}

bool same_terms(const Quota& one, const Quota& other) {
  return one.limit() == other.limit() && one.capacity() == other.capacity();
}

Charge one_unit(Charge charge) {
  charge.cost = 1;
  return charge;
}

bool is_later(Instant one, Instant other) { return one > other; }

}  // namespace

LeasedStore::LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisClient& client,
                         Reactor& reactor, RedisStoreListener& listener)
    : options_(options),
      strict_(strict),
      trips_({options.redis, options.redis.deadline, Breaker::kFailuresMax}, client, reactor,
             listener, *this),
      keys_(options.keys),
      denials_(options.redis.denied_keys),
      waiting_(kWaitingMax),
      waiters_(kWaitingMax * Batch::kChargesMax, kNobody),
      return_alarm_(reactor.make_alarm([this](Instant now) { ring(now); })) {
  waiting_free_.reserve(kWaitingMax);
  for (std::uint32_t index = kWaitingMax; index > 0; --index) waiting_free_.push_back(index - 1);
  due_.reserve(options.keys);
}

LeasedStore::~LeasedStore() {
  for (Waiting& waiting : waiting_) {
    if (waiting.batch != nullptr) fail(*std::exchange(waiting.batch, nullptr));
  }
}

// ---- checks ----

void LeasedStore::decide(Batch& batch, Instant now) noexcept {
  WEIR_ASSERT(batch.charges.size() == batch.decisions.size());
  WEIR_ASSERT(batch.charges.size() <= Batch::kChargesMax);
  batch.error = StoreError::kNone;
  if (batch.charges.empty()) return batch.on_done(batch);
  const bool for_leases =
      batch.operation != Operation::kReset && std::ranges::all_of(batch.charges, is_for_leases);
  if (!for_leases) return pass_on(batch, now, now);
  if (answer_from_memory(batch, find(batch.charges), now)) {
    ++counts_.from_memory;
  } else if (spends(batch.operation)) {
    wait_for_leases(batch, now);
  } else {
    pass_on(batch, now, now);
  }
}

LeasedStore::Places LeasedStore::find(std::span<const Charge> charges) {
  Places places;
  for (std::size_t index = 0; index < charges.size(); ++index) {
    places[index] = keys_.find(charges[index].key, charges[index].tag);
  }
  return places;
}

LeasedStore::Known LeasedStore::known_of(const Batch& batch, const Places& places,
                                         std::size_t index, Instant now) {
  const Charge& charge = batch.charges[index];
  if (places[index] != kNobody) {
    Key& key = keys_[places[index]];
    std::int64_t needed = std::max<std::int64_t>(1, charge.cost);
    for (std::size_t before = 0; spends(batch.operation) && before < index; ++before) {
      if (places[before] == places[index]) needed += batch.charges[before].cost;
    }
    drop_expired(key, now);
    const std::int64_t held = key.leases[0].units + key.leases[1].units;
    if (held >= needed && same_terms(key.quota, *charge.quota)) return Known::kUnits;
  }
  return denials_.find(charge, now) ? Known::kDenial : Known::kNothing;
}

// False, and nothing is spent, if memory does not know of all charges.
bool LeasedStore::answer_from_memory(Batch& batch, const Places& places, Instant now) {
  std::array<Known, Batch::kChargesMax> known;
  bool denied = false;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    known[index] = known_of(batch, places, index, now);
    if (known[index] == Known::kNothing) return false;
    denied = denied || known[index] == Known::kDenial;
  }
  const bool only_looks =
      !spends(batch.operation) || (denied && batch.operation == Operation::kSpendAll);
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    if (known[index] == Known::kDenial) {
      batch.decisions[index] = *denials_.find(charge, now);
    } else {
      batch.decisions[index] = spend(places[index], only_looks ? 0 : charge.cost, now);
    }
  }
  batch.on_done(batch);
  return true;
}

// REQUIRES: so much is held
Decision LeasedStore::spend(std::uint32_t place, std::int64_t cost, Instant now) {
  Key& key = keys_[place];
  count_demand(key, cost, now);
  for (Held& lease : key.leases) {
    const std::int64_t spent = std::min(cost, lease.units);
    lease.units -= spent;
    cost -= spent;
  }
  WEIR_ASSERT(cost == 0);
  const std::int64_t held = key.leases[0].units + key.leases[1].units;
  Decision decision;
  decision.limit = key.quota.capacity();
  decision.remaining = std::min(decision.limit, key.left_in_redis + held);
  decision.reset_after = std::max(Duration{0}, key.reset_at - now);
  ask_ahead(place, now);
  return decision;
}

void LeasedStore::count_demand(Key& key, std::int64_t cost, Instant now) {
  const Duration span = length_for(key.quota);
  if (now - key.span_start >= span) {
    key.spent_before = now - key.span_start < 2 * span ? key.spent_in_span : 0;
    key.spent_in_span = 0;
    key.span_start = now;
  }
  key.spent_in_span = std::min(kUnitsMax, key.spent_in_span + cost);
}

std::int64_t LeasedStore::demand_of(const Key& key) {
  return std::max(key.spent_before, key.spent_in_span);
}

// Not for what looks only, or is more than a lease can be; nor of a key that is known to be
// empty.
bool LeasedStore::is_worth_a_lease(std::uint32_t place, const Charge& charge, Instant now) {
  return charge.cost > 0 && charge.cost <= charge.quota->capacity() / share() &&
         demand_of(keys_[place]) >= kBusyDemand && !denials_.find(one_unit(charge), now);
}

std::int64_t LeasedStore::share() const { return std::max<std::int64_t>(1, options_.share()); }

// If leases help, else the strict store decides.
void LeasedStore::wait_for_leases(Batch& batch, Instant now) {
  if (trips_.is_away()) return fail(batch);
  for (const Charge& charge : batch.charges) {
    if (!find_place(charge, now)) return pass_on(batch, now, now);
  }
  const Places places = find(batch.charges);  // one may have had to make room for another
  std::array<std::size_t, Batch::kChargesMax> lacking;
  std::uint8_t lacks = 0;
  bool help = !waiting_free_.empty();
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    if (places[index] == kNobody) return pass_on(batch, now, now);
    if (known_of(batch, places, index, now) != Known::kNothing) continue;
    help = help && is_worth_a_lease(places[index], batch.charges[index], now);
    lacking[lacks++] = index;
  }
  if (!help) {
    for (std::size_t index = 0; index < batch.charges.size(); ++index) {
      count_demand(keys_[places[index]], batch.charges[index].cost, now);
    }
    return pass_on(batch, now, now);
  }
  wait(batch, places, std::span(lacking).first(lacks), now);
}

void LeasedStore::wait(Batch& batch, const Places& places, std::span<const std::size_t> lacking,
                       Instant now) {
  const std::uint32_t waiting = waiting_free_.back();
  waiting_free_.pop_back();
  waiting_[waiting] = {
      .batch = &batch, .since = now, .leases_awaited = static_cast<std::uint8_t>(lacking.size())};
  ++counts_.waited;
  for (const std::size_t index : lacking) {
    keys_[places[index]].units_awaited += batch.charges[index].cost;
    ask(places[index]);
    add_waiter(places[index], static_cast<std::uint32_t>(waiting * Batch::kChargesMax + index));
  }
}

// To the strict store, which is to find there what is held here.
void LeasedStore::pass_on(Batch& batch, Instant since, Instant now) {
  ++counts_.passed_on;
  bool gave_back = false;
  for (const Charge& charge : batch.charges) {
    if (charge.cost < 0) denials_.forget(charge.key);
    const std::uint32_t place = keys_.find(charge.key, charge.tag);
    if (batch.operation == Operation::kReset) {
      forget(charge);
    } else if (place != kNobody && give_back_all(place, now)) {
      gave_back = true;
    }
  }
  if (gave_back) trips_.flush(now);  // before the strict store sends anything
  strict_.decide(batch, since);
}

void LeasedStore::fail(Batch& batch) noexcept {
  batch.error = StoreError::kUnavailable;
  batch.on_done(batch);
}

// ---- leases ----

// Sees to it that the key has a place, whose leases are under this quota.
bool LeasedStore::find_place(const Charge& charge, Instant now) {
  std::uint32_t place = keys_.find(charge.key, charge.tag);
  if (place == kNobody) {
    if (keys_.is_full() && !make_room(now)) return false;
    place = keys_.add(charge.key, charge.tag);
    keys_[place].quota = *charge.quota;
  }
  if (!same_terms(keys_[place].quota, *charge.quota)) {
    give_back_all(place, now);
    keys_[place].quota = *charge.quota;
  }
  return true;
}

// For one key: of a few in turn one goes that holds nothing, or else gives back.
bool LeasedStore::make_room(Instant now) {
  std::uint32_t leaves = kNobody;
  for (int i = 0; i < kCandidates; ++i) {
    const std::uint32_t place = keys_.next_in_turn();
    Key& key = keys_[place];
    if (key.asked != Key::Asked::kNo) continue;
    drop_expired(key, now);
    leaves = place;
    if (key.leases[0].units == 0) break;
  }
  if (leaves == kNobody) return false;
  give_back_all(leaves, now);
  keys_.remove(leaves);
  return true;
}

void LeasedStore::ask(std::uint32_t place) {
  Key& key = keys_[place];
  if (key.asked != Key::Asked::kNo) return;
  key.asked = Key::Asked::kYes;
  trips_.add({.operation = ScriptOperation::kLease,
              .place = place,
              .key = keys_.key_of(place),
              .tag = keys_.tag_of(place),
              .quota = key.quota});
}

// When a quarter of a lease's demand is left, or half of its time.
void LeasedStore::ask_ahead(std::uint32_t place, Instant now) {
  Key& key = keys_[place];
  const std::int64_t demand = demand_of(key);
  const bool may_ask = key.asked == Key::Asked::kNo && key.leases[1].units == 0 &&
                       key.left_in_redis > 0 && demand >= kBusyDemand;
  if (!may_ask || trips_.is_away()) return;
  const Held& lease = key.leases[0];
  const bool ends_soon = lease.end - now < length_for(key.quota) / 2;
  if (lease.units < demand / 4 || ends_soon) ask(place);
}

void LeasedStore::leaving(Errand& errand, Instant) {
  if (errand.operation != ScriptOperation::kLease) return;
  Key& key = keys_[errand.place];
  const std::int64_t demand = demand_of(key);
  const std::int64_t awaited = std::exchange(key.units_awaited, 0);
  errand.quota = key.quota;
  errand.units = std::clamp(std::max(awaited, demand), std::int64_t{1}, kUnitsMax);
  errand.terms = {.share = share(), .length = length_for(key.quota)};
  ++counts_.leases;
}

ChargeFailure LeasedStore::done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                                Instant now) {
  const Charge charge = errand.charge();
  Lease lease;
  if (errand.operation == ScriptOperation::kReturn) {
    return replies.read({&charge, 1}, {&lease.decision, 1});
  }
  const ChargeFailure failure = replies.read_leases({&charge, 1}, {&lease, 1});
  if (failure != ChargeFailure::kNone) return failure;
  Key& key = keys_[errand.place];
  key.left_in_redis = lease.decision.remaining;
  key.reset_at = now + lease.decision.reset_after;
  if (lease.units == 0) denials_.note(one_unit(charge), lease.decision, asked_at);
  receive(errand,
          {.units = lease.units,
           .end = asked_at + lease.length,
           .end_at_redis = replies.time() + lease.length,
           .given_back_at = asked_at + lease.length * 3 / 4},
          now);
  wake(errand.place, StoreError::kNone, now);
  return ChargeFailure::kNone;
}

// As one, of which all is spent before either ends.
LeasedStore::Held LeasedStore::joined(const Held& one, const Held& other) {
  return {.units = one.units + other.units,
          .end = std::min(one.end, other.end),
          .end_at_redis = std::min(one.end_at_redis, other.end_at_redis),
          .given_back_at = std::min(one.given_back_at, other.given_back_at)};
}

void LeasedStore::receive(const Errand& errand, const Held& lease, Instant now) {
  Key& key = keys_[errand.place];
  counts_.granted += lease.units;
  const bool in_vain = std::exchange(key.asked, Key::Asked::kNo) == Key::Asked::kInVain;
  if (lease.units == 0 || in_vain) return;
  drop_expired(key, now);
  Held& room = key.leases[key.leases[0].units == 0 ? 0 : 1];
  room = room.units == 0 ? lease : joined(room, lease);
  if (!same_terms(key.quota, errand.quota)) {
    const Quota quota = std::exchange(key.quota, errand.quota);
    give_back(errand.place, room, now);
    key.quota = quota;
    return;
  }
  due_.push_back({lease.given_back_at, errand.place});
  std::ranges::push_heap(due_, is_later, &Due::at);
  return_alarm_->set(due_.front().at);
}

void LeasedStore::lost(const Errand& errand, Instant now) {
  if (errand.operation == ScriptOperation::kReturn) return;
  keys_[errand.place].asked = Key::Asked::kNo;
  wake(errand.place, StoreError::kUnavailable, now);
}

// ---- who waits ----

void LeasedStore::add_waiter(std::uint32_t place, std::uint32_t waiter) {
  Key& key = keys_[place];
  waiters_[waiter] = kNobody;
  if (key.first_waiter == kNobody) {
    key.first_waiter = waiter;
  } else {
    waiters_[key.last_waiter] = waiter;
  }
  key.last_waiter = waiter;
}

// In the order they came. Who is answered may ask for more, and waits again.
void LeasedStore::wake(std::uint32_t place, StoreError error, Instant now) {
  std::uint32_t waiter = std::exchange(keys_[place].first_waiter, kNobody);
  while (waiter != kNobody) {
    const std::uint32_t next = waiters_[waiter];
    const auto index = static_cast<std::uint32_t>(waiter / Batch::kChargesMax);
    Waiting& waiting = waiting_[index];
    if (error != StoreError::kNone) waiting.error = error;
    if (--waiting.leases_awaited == 0) resolve(index, now);
    waiter = next;
  }
}

// All that it waited for is there, or will not come.
void LeasedStore::resolve(std::uint32_t index, Instant now) {
  const Waiting waiting = std::exchange(waiting_[index], {});
  waiting_free_.push_back(index);
  Batch& batch = *waiting.batch;
  if (waiting.error != StoreError::kNone) return fail(batch);
  if (answer_from_memory(batch, find(batch.charges), now)) return;
  pass_on(batch, waiting.since, now);
}

// ---- what is not spent ----

void LeasedStore::drop_expired(Key& key, Instant now) {
  for (Held& lease : key.leases) {
    if (lease.units > 0 && lease.end <= now) counts_.expired += std::exchange(lease.units, 0);
  }
  if (key.leases[0].units == 0) std::swap(key.leases[0], key.leases[1]);
}

// True if there was something to give.
bool LeasedStore::give_back(std::uint32_t place, Held& lease, Instant now) {
  if (lease.units == 0 || lease.end <= now) return false;
  Key& key = keys_[place];
  const std::int64_t units = std::exchange(lease.units, 0);
  counts_.returned += units;
  key.left_in_redis += units;
  denials_.forget(keys_.key_of(place));
  trips_.add({.operation = ScriptOperation::kReturn,
              .place = place,
              .key = keys_.key_of(place),
              .tag = keys_.tag_of(place),
              .quota = key.quota,
              .units = -units,
              .returnable_until = lease.end_at_redis});
  return true;
}

bool LeasedStore::give_back_all(std::uint32_t place, Instant now) {
  const bool first = give_back(place, keys_[place].leases[0], now);
  const bool second = give_back(place, keys_[place].leases[1], now);
  return first || second;
}

// Redis forgets the key, and what it has leased of it.
void LeasedStore::forget(const Charge& charge) {
  denials_.forget(charge.key);
  trips_.cancel_returns(charge.key, charge.tag);
  const std::uint32_t place = keys_.find(charge.key, charge.tag);
  if (place == kNobody) return;
  Key& key = keys_[place];
  for (Held& lease : key.leases) counts_.expired += std::exchange(lease.units, 0);
  if (key.asked == Key::Asked::kYes) key.asked = Key::Asked::kInVain;
}

void LeasedStore::ring(Instant now) {
  while (!due_.empty() && due_.front().at <= now) {
    const std::uint32_t place = due_.front().place;
    std::ranges::pop_heap(due_, is_later, &Due::at);
    due_.pop_back();
    for (Held& lease : keys_[place].leases) {
      if (lease.given_back_at <= now && !trips_.is_away()) give_back(place, lease, now);
    }
  }
  return_alarm_->set(due_.empty() ? Instant::max() : due_.front().at);
}

}  // namespace weir
