#include "store/redis/leased_store.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.h"

namespace weir {
namespace {

// What is asked for a key that is new.
constexpr std::int64_t kUnitsAtFirst = 8;
// The part that a long lease may have of what any lease may have, as decide.lua has it.
constexpr std::int64_t kLongPart = 4;
// What is asked ahead shares its trip with what comes soon; so much time is left for the trip.
constexpr Duration kTrip = std::chrono::milliseconds(10);
constexpr Duration kGather = LeasedKey::kAheadMin - kTrip;
// Nor is anybody in haste for what goes back, but of the shortest leases not much time is left.
constexpr Duration kGatherReturns = std::chrono::milliseconds(5);
// Leases whose return is planned, some of keys that have made room. More than that expire.
constexpr std::size_t kDuePerKey = 8;
// Keys that are asked to make room for another.
constexpr int kCandidates = 16;

bool is_leased(const Charge& charge) {
  const std::int64_t most = std::min(LeasedKey::kUnitsMax, charge.quota->capacity());
  return charge.cost >= 0 && charge.cost <= most &&
         lease_length(*charge.quota) >= LeasedStore::kLengthMin;
}

Charge one_unit(Charge charge) {
  charge.cost = 1;
  return charge;
}

}  // namespace

LeasedStore::LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisClient& client,
                         Reactor& reactor, RedisStoreListener& listener)
    : options_(options),
      strict_(strict),
      trips_(options.redis, Breaker::kFailuresMax, client, reactor, listener, *this),
      keys_(options.keys),
      denials_(options.redis.denied_keys),
      own_counters_(options.redis.own_counters),
      waiting_(kWaitingMax),
      waiters_(kWaitingMax * Batch::kChargesMax, kNobody),
      return_alarm_(reactor.make_alarm([this](Instant now) { ring(now); })) {
  waiting_free_.reserve(kWaitingMax);
  for (std::uint32_t index = kWaitingMax; index > 0; --index) waiting_free_.push_back(index - 1);
  due_.reserve(kDuePerKey * options.keys);
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
  if (!is_for_leases(batch)) {
    if (!take_back(batch, now)) pass_on(batch, now, now);
    return;
  }
  if (answer_at_once(batch, now)) return;
  if (!spends(batch.operation)) return pass_on(batch, now, now);
  wait_for_leases(batch, now);
}

bool LeasedStore::is_for_leases(const Batch& batch) {
  return batch.operation != Operation::kReset && std::ranges::all_of(batch.charges, is_leased);
}

void LeasedStore::AtHand::decide(Batch& batch, Instant now) noexcept {
  batch.error = StoreError::kNone;
  leased_.keys_.prefetch(batch.charges);
  if (!is_for_leases(batch) || !leased_.answer_at_once(batch, now)) leased_.fail(batch);
}

bool LeasedStore::answer_at_once(Batch& batch, Instant now) {
  if (!answer_from_memory(batch, find(batch.charges), now)) return false;
  ++counts_.from_memory;
  return true;
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
    if (key.leased.held() >= needed && key.leased.has_terms(*charge.quota)) return Known::kUnits;
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
      if (spends(batch.operation)) ask_before_end(places[index], charge, now);
    } else {
      batch.decisions[index] = spend(places[index], only_looks ? 0 : charge.cost, now);
    }
  }
  batch.on_done(batch);
  return true;
}

// REQUIRES: so much is held
Decision LeasedStore::spend(std::uint32_t place, std::int64_t cost, Instant now) {
  LeasedKey& key = keys_[place].leased;
  const Decision decision = key.spend(cost, now);
  if (key.runs_low(now)) ask_ahead(place, now);
  return decision;
}

// So many at most, as far as this core knows.
std::int64_t LeasedStore::units_of_long(const LeasedKey& key, Instant now) const {
  return key.left(now) / (kLongPart * share());
}

bool LeasedStore::wants_leases(const LeasedKey& key, std::int64_t units, Instant now) const {
  return units_of_long(key, now) >= 2 * units || key.is_busy(now);
}

// Not for what looks only, or is more than a lease can be; nor of a key that is known to be
// empty.
bool LeasedStore::is_worth_a_lease(const LeasedKey& key, const Charge& charge, Instant now) {
  return charge.cost > 0 && charge.cost <= charge.quota->capacity() / share() &&
         wants_leases(key, charge.cost, now) && !denials_.find(one_unit(charge), now);
}

std::int64_t LeasedStore::share() const { return std::max<std::int64_t>(1, options_.share()); }

// If leases help, else the strict store decides.
void LeasedStore::wait_for_leases(Batch& batch, Instant now) {
  if (trips_.is_away() || batch.give_up_at <= now) return fail(batch);
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
    help = help && is_worth_a_lease(keys_[places[index]].leased, batch.charges[index], now);
    lacking[lacks++] = index;
  }
  if (!help) {
    for (std::size_t index = 0; index < batch.charges.size(); ++index) {
      keys_[places[index]].leased.count_demand(batch.charges[index].cost, now);
    }
    return pass_on(batch, now, now);
  }
  wait(batch, places, std::span(lacking).first(lacks), now);
}

void LeasedStore::wait(Batch& batch, const Places& places, std::span<const std::size_t> lacking,
                       Instant now) {
  for (const std::size_t index : lacking) {
    if (!ask(places[index], Instant{})) return fail(batch);
  }
  const std::uint32_t waiting = waiting_free_.back();
  waiting_free_.pop_back();
  waiting_[waiting] = {
      .batch = &batch, .since = now, .leases_awaited = static_cast<std::uint8_t>(lacking.size())};
  ++counts_.waited;
  for (const std::size_t index : lacking) {
    keys_[places[index]].units_awaited += batch.charges[index].cost;
    trips_.hurry();
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
  // Before the strict store sends anything: a reset forgets what is leased until then.
  if (gave_back || batch.operation == Operation::kReset) trips_.flush(now);
  strict_.decide(batch, since);
}

void LeasedStore::fail(Batch& batch) noexcept {
  batch.error = StoreError::kUnavailable;
  batch.on_done(batch);
}

// What comes back of a lease that is out still belongs to it again: no trip is needed. False,
// and nothing is changed, if that is not all there is to be done.
bool LeasedStore::take_back(Batch& batch, Instant now) {
  const Places places = find(batch.charges);
  std::size_t taken = 0;
  while (taken < batch.charges.size() && spends(batch.operation) &&
         take_back_one(places[taken], batch.charges[taken], now)) {
    ++taken;
  }
  const bool is_all = taken == batch.charges.size();
  for (std::size_t index = 0; index < taken; ++index) {
    if (is_all) {
      batch.decisions[index] = spend(places[index], 0, now);
    } else {  // undone
      keys_[places[index]].leased.spend(-batch.charges[index].cost, now);
    }
  }
  if (is_all) batch.on_done(batch);
  return is_all;
}

bool LeasedStore::take_back_one(std::uint32_t place, const Charge& charge, Instant now) {
  if (place == kNobody || charge.cost > 0) return false;
  Key& key = keys_[place];
  if (key.asked == Key::Asked::kInVain || !key.leased.has_terms(*charge.quota)) return false;
  drop_expired(key, now);
  return key.leased.take_back(-charge.cost, now);
}

// ---- leases ----

// Sees to it that the key has a place, whose leases are under this quota.
bool LeasedStore::find_place(const Charge& charge, Instant now) {
  std::uint32_t place = keys_.find(charge.key, charge.tag);
  if (place == kNobody) {
    if (keys_.is_full() && !make_room(now)) return false;
    place = keys_.add(charge.key, charge.tag);
  }
  if (!keys_[place].leased.has_terms(*charge.quota)) {
    give_back_all(place, now);
    keys_[place].leased.set_terms(*charge.quota);
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
    if (key.leased.held() == 0) break;
  }
  if (leaves == kNobody) return false;
  give_back_all(leaves, now);
  keys_.remove(leaves);
  return true;
}

bool LeasedStore::ask(std::uint32_t place, Instant due) {
  Key& key = keys_[place];
  if (key.asked != Key::Asked::kNo) return true;
  const bool is_added = trips_.add({.operation = ScriptOperation::kLease,
                                    .place = place,
                                    .key = keys_.key_of(place),
                                    .tag = keys_.tag_of(place),
                                    .quota = key.leased.quota()},
                                   due);
  if (is_added) key.asked = Key::Asked::kYes;
  return is_added;
}

void LeasedStore::ask_ahead(std::uint32_t place, Instant now) {
  const Key& key = keys_[place];
  const bool may_ask = key.asked == Key::Asked::kNo && key.leased.left(now) > 0;
  if (!may_ask || trips_.is_away() || !wants_leases(key.leased, 1, now)) return;
  const bool hurries = key.leased.held() < key.leased.demand_soon(now);
  ask(place, hurries ? Instant{} : now + kGather);
}

// What came back to a busy key while it was denied is there when the denial ends. Not before
// its last quarter, so that a short denial, too, saves most of the trips.
void LeasedStore::ask_before_end(std::uint32_t place, const Charge& charge, Instant now) {
  if (place == kNobody) return;
  const auto [begin, end] = denials_.span_of(charge.key);
  const Duration early = std::min(LeasedKey::kAheadMin, (end - begin) / 4);
  if (end - now > early) return;
  LeasedKey& key = keys_[place].leased;
  key.count_demand(charge.cost, now);
  if (key.is_busy(now) && !trips_.is_away()) ask(place, end - std::min(kTrip, early));
}

// A long lease, if a small part of what remains covers the demand, or that is small.
void LeasedStore::leaving(Errand& errand, Instant now) {
  if (errand.operation != ScriptOperation::kLease) return;
  LeasedKey& key = keys_[errand.place].leased;
  const std::int64_t awaited = std::exchange(keys_[errand.place].units_awaited, 0);
  const Duration length = lease_length(key.quota());
  const Duration long_length = long_lease_length(key.quota());
  const std::int64_t demand = std::max(kUnitsAtFirst, key.demand_within(long_length, now));
  const bool is_long = units_of_long(key, now) >= demand || !key.is_busy(now);
  const std::int64_t units = is_long ? demand : key.demand_within(length, now);
  const std::int64_t needed = awaited + key.demand_soon(now);
  errand.quota = key.quota();
  errand.units = std::clamp(std::max(needed, units), std::int64_t{1}, LeasedKey::kUnitsMax);
  errand.terms = {.share = share(),
                  .needed = needed,
                  .length = length,
                  .long_length = is_long ? long_length : Duration{0}};
  key.settle(errand.terms);
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
  keys_[errand.place].leased.note_state(lease.decision, now);
  if (!lease.decision.allowed()) {
    lease.decision.retry_after = std::max(lease.decision.retry_after, trickle_length(errand.quota));
    denials_.note(one_unit(charge), lease.decision, asked_at);
  }
  own_counters_.enter({.key = charge.key, .quota = &errand.quota, .cost = lease.units}, now);
  receive(errand, {.lease = lease, .asked_at = asked_at, .time_at_redis = replies.time()}, now);
  wake(errand.place, StoreError::kNone, now);
  return ChargeFailure::kNone;
}

// Under another quota than it was asked for it goes back.
void LeasedStore::receive(const Errand& errand, const LeasedKey::Grant& grant, Instant now) {
  Key& key = keys_[errand.place];
  counts_.granted += grant.lease.units;
  const bool in_vain = std::exchange(key.asked, Key::Asked::kNo) == Key::Asked::kInVain;
  if (grant.lease.units == 0 || in_vain) return;
  drop_expired(key, now);
  if (!key.leased.has_terms(errand.quota)) {
    const Quota wanted = key.leased.quota();
    give_back_all(errand.place, now);
    key.leased.set_terms(errand.quota);
    key.leased.receive(grant, now);
    give_back_all(errand.place, now);
    return key.leased.set_terms(wanted);
  }
  key.leased.receive(grant, now);
  if (due_.size() == due_.capacity()) return;  // it expires
  due_.push_back({key.leased.return_at(), errand.place});
  std::ranges::push_heap(due_, std::ranges::greater{}, &Due::at);
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
  counts_.expired += key.leased.drop_expired(now);
}

// True if there was something to give.
bool LeasedStore::give_back(std::uint32_t place, std::size_t lease, Instant now) {
  LeasedKey& key = keys_[place].leased;
  const LeasedKey::Returned returned = key.give_back(lease, now);
  if (returned.units == 0) return false;
  const Charge charge{.key = keys_.key_of(place), .quota = &key.quota(), .cost = -returned.units};
  denials_.forget(charge.key);
  const bool is_added =
      trips_.add({.operation = ScriptOperation::kReturn,
                  .place = place,
                  .key = charge.key,
                  .tag = keys_.tag_of(place),
                  .quota = key.quota(),
                  .units = charge.cost,
                  .terms = {.settled = returned.settled, .settled_until = returned.end_at_redis}},
                 now + kGatherReturns);
  (is_added ? counts_.returned : counts_.expired) += returned.units;
  own_counters_.enter(charge, now);
  return true;
}

bool LeasedStore::give_back_all(std::uint32_t place, Instant now) {
  const bool first = give_back(place, 0, now);
  const bool second = give_back(place, 1, now);
  return first || second;
}

// Redis forgets the key, and what it has leased of it.
void LeasedStore::forget(const Charge& charge) {
  denials_.forget(charge.key);
  trips_.cancel_returns(charge.key, charge.tag);
  const std::uint32_t place = keys_.find(charge.key, charge.tag);
  if (place == kNobody) return;
  Key& key = keys_[place];
  counts_.expired += key.leased.forget();
  if (key.asked == Key::Asked::kYes) key.asked = Key::Asked::kInVain;
}

void LeasedStore::ring(Instant now) {
  while (!due_.empty() && due_.front().at <= now) {
    const std::uint32_t place = due_.front().place;
    std::ranges::pop_heap(due_, std::ranges::greater{}, &Due::at);
    due_.pop_back();
    for (std::size_t lease = 0; lease < LeasedKey::kLeases && !trips_.is_away(); ++lease) {
      if (keys_[place].leased.is_to_go_back(lease, now)) give_back(place, lease, now);
    }
  }
  return_alarm_->set(due_.empty() ? Instant::max() : due_.front().at);
}

bool LeasedStore::give_back_all(Instant now) {
  constexpr int kKeysAtOnce = 8 * static_cast<int>(ChargeCall::kChargesMax);
  if (trips_.is_away()) return true;
  if (!trips_.is_idle()) return false;
  int given = 0;
  for (std::size_t asked = keys_.size(); asked > 0 && given < kKeysAtOnce; --asked) {
    given += give_back_all(keys_.next_in_turn(), now) ? 1 : 0;
  }
  trips_.flush(now);
  return given == 0;
}

}  // namespace weir
