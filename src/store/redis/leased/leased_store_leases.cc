// How a core asks for leases, receives them, wakes the checks that wait, and gives back.

#include <algorithm>
#include <utility>

#include "store/redis/leased/leased_store.h"

namespace weir {
namespace {

// The units of a new key's first lease.
constexpr std::int64_t kUnitsAtFirst = 8;
// A lease that the core asks for ahead shares its trip with errands that come soon; this much
// time is left for the trip.
constexpr Duration kTrip = std::chrono::milliseconds(10);
constexpr Duration kGather = LeasedKey::kAheadMin - kTrip;
// Returns are in no haste either, but the shortest leases have not much time left.
constexpr Duration kGatherReturns = std::chrono::milliseconds(5);
// Keys that a new key looks at to make room.
constexpr int kCandidates = 16;

Charge one_unit(Charge charge) {
  charge.cost = 1;
  return charge;
}

}  // namespace

// ---- leases ----

// Gives the key a place, whose leases are under this quota.
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
  keys_[place].leased.follow(*charge.quota);
  return true;
}

// Removes the first of a few keys in turn that holds nothing; if all hold units, the last gives
// them back and goes.
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

// A busy key finds what came back while it was denied when the denial ends. It asks in the denial's
// last quarter, so that a short denial, too, saves most of the trips.
void LeasedStore::ask_before_end(std::uint32_t place, const Charge& charge, Instant now) {
  if (place == kNobody) return;
  const auto [begin, end] = denials_.span_of(charge.key);
  const Duration early = std::min(LeasedKey::kAheadMin, (end - begin) / 4);
  if (end - now > early) return;
  LeasedKey& key = keys_[place].leased;
  key.count_demand(charge.cost, now);
  if (key.is_busy(now) && !trips_.is_away()) ask(place, end - std::min(kTrip, early));
}

// Asks for a long lease if a small part of what remains covers the demand, or demand is small.
void LeasedStore::leaving(Errand& errand, Instant now) {
  if (errand.operation != ScriptOperation::kLease) return;
  LeasedKey& key = keys_[errand.place].leased;
  const std::int64_t awaited = std::exchange(keys_[errand.place].units_awaited, 0);
  const Duration length = lease_length(key.quota());
  const Duration long_length = long_lease_length(key.quota());
  const std::int64_t demand = std::max(kUnitsAtFirst, key.demand_within(long_length, now));
  const bool is_long =
      long_length > Duration{0} && (units_of_long(key, now) >= demand || !key.is_busy(now));
  const std::int64_t units = is_long ? demand : key.demand_within(length, now);
  const std::int64_t needed = awaited + key.demand_soon(now);
  errand.quota = key.quota();
  errand.units = std::clamp(std::max(needed, units), std::int64_t{1}, LeasedKey::kUnitsMax);
  errand.terms = {.share = share(),
                  .needed = needed,
                  .length = length,
                  .long_length = is_long ? long_length : Duration{0}};
  key.settle(errand.terms);
  ++counts_[kLeases];
}

ChargeFailure LeasedStore::done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                                Instant now) {
  const Charge charge = errand.charge();
  Lease lease;
  if (errand.operation == ScriptOperation::kReturn) {
    return replies.read({&charge, 1}, {&lease.decision, 1});
  }
  const ChargeFailure failure = replies.read_lease(charge, lease);
  if (failure != ChargeFailure::kNone) return failure;
  keys_[errand.place].leased.note_state(lease.decision, now);
  if (!lease.decision.allowed()) {
    lease.decision.retry_after = std::max(lease.decision.retry_after, trickle_length(errand.quota));
    denials_.note(one_unit(charge), lease.decision, asked_at);
  }
  own_counters_.enter({.key = charge.key, .quota = &errand.quota, .cost = lease.units}, now);
  own_counters_.lower(charge, lease.decision, now);
  receive(errand, {.lease = lease, .asked_at = asked_at, .time_at_redis = replies.time()}, now);
  wake(errand.place, StoreError::kNone, now);
  return ChargeFailure::kNone;
}

// A lease under another quota than the key has by now goes back.
void LeasedStore::receive(const Errand& errand, const LeasedKey::Grant& grant, Instant now) {
  Key& key = keys_[errand.place];
  counts_[kLeasedGranted] += grant.lease.units;
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

// ---- checks that wait ----

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

// Answers checks in the order they came. A callback may decide again, and then waits again.
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

// All leases that the check waited for have come, or will not come.
void LeasedStore::resolve(std::uint32_t index, Instant now) {
  const Waiting waiting = std::exchange(waiting_[index], {});
  waiting_free_.push_back(index);
  Batch& batch = *waiting.batch;
  if (waiting.error != StoreError::kNone) return batch.fail();
  if (answer_from_memory(batch, find(batch.charges), now)) return;
  pass_on(batch, waiting.since, now);
}

// ---- units that are not spent ----

void LeasedStore::drop_expired(Key& key, Instant now) {
  counts_[kLeasedExpired] += key.leased.drop_expired(now);
}

// True if there were units to give back.
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
  (is_added ? counts_[kLeasedReturned] : counts_[kLeasedExpired]) += returned.units;
  own_counters_.enter(charge, now);
  return true;
}

bool LeasedStore::give_back_all(std::uint32_t place, Instant now) {
  const bool first = give_back(place, 0, now);
  const bool second = give_back(place, 1, now);
  return first || second;
}

// Redis forgets the key, and its leases.
void LeasedStore::forget(const Charge& charge) {
  denials_.forget(charge.key);
  trips_.cancel_returns(charge.key, charge.tag);
  const std::uint32_t place = keys_.find(charge.key, charge.tag);
  if (place == kNobody) return;
  Key& key = keys_[place];
  counts_[kLeasedExpired] += key.leased.forget();
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
