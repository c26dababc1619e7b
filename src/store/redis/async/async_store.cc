#include "store/redis/async/async_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "store/redis/async/synced_state.h"

// A key of a fixed_window, 100 a minute, on three nodes. sync_interval is 100 ms, so each node
// syncs every 50 ms. Numbers are units spent: by a node's copy, and as Redis counts them.
//
//   time      node A                   node B                   node C                      Redis
//   0 ms      a first check: 1         a first check: 1         a first check: 1                0
//             allowed; a sync leaves   allowed; a sync leaves   allowed; a sync leaves
//   1 ms      copy 1                   copy 2                   copy 3                          3
//   1 to 50   allows 40: copy 41       allows 30: copy 32       allows 20: copy 23              3
//   50 ms     pushes 40                pushes 30                pushes 20                      93
//   51 ms     copy 43                  copy 73                  copy 93
//   to 100    allows 20: copy 63       allows 10: copy 83       allows 7: copy 100,            93
//                                                               then denies
//   100 ms    pushes 20                pushes 10                pushes 7                      130
//   101 ms    copy 113: denies         copy 123: denies         copy 130: denies
//
// Over by 30: what arrived within an interval and a trip. Redis charges all of it, so the next
// decisions are right: a bucket pays the 30 back first.

namespace weir {
namespace {

// Keys that a new key looks at to make room.
constexpr int kCandidates = 16;

bool is_for_copies(const Charge& charge) {
  return charge.cost >= 0 && is_synced(charge.quota->active());
}

RedisStoreOptions with_patience(RedisStoreOptions redis) {
  redis.deadline = AsyncStore::kPatience;
  return redis;
}

// A call of one server that fails is an outage; in a cluster other masters may answer.
int failures_max(KeySpread spread) {
  return spread == KeySpread::kOneServer ? 1 : Breaker::kFailuresMax;
}

bool has_terms(const Quota& one, const Quota& other) {
  return one.limit() == other.limit() && one.capacity() == other.capacity() &&
         one.switch_number() == other.switch_number();
}

}  // namespace

AsyncStore::AsyncStore(const AsyncStoreOptions& options, Store& strict, RedisClient& client,
                       Reactor& reactor, RedisListener& listener)
    : stores_(options.stores),
      strict_(strict),
      owed_(options.owed),
      trips_(with_patience(options.redis), failures_max(options.redis.spread), client, reactor,
             listener, *this),
      keys_(options.keys),
      own_counters_(options.redis.own_counters, options.redis.live_nodes),
      period_(options.interval / 2),
      sync_alarm_(reactor.make_alarm([this](Instant now) { sync_touched(now); })) {
  calm_.reserve(options.keys);
  touched_.reserve(options.keys);
  syncing_.reserve(options.keys);
}

// ---- checks ----

void AsyncStore::decide(Batch& batch, Instant now) noexcept {
  WEIR_ASSERT(batch.charges.size() == batch.decisions.size());
  WEIR_ASSERT(batch.charges.size() <= Batch::kChargesMax);
  batch.error = StoreError::kNone;
  if (batch.charges.empty()) return batch.on_done(batch);
  const bool for_copies =
      batch.operation != Operation::kReset && std::ranges::all_of(batch.charges, is_for_copies);
  if (!for_copies) {
    if (!take_back(batch, now)) pass_on(batch, now);
    return;
  }
  keys_.prefetch(batch.charges);
  if (trips_.is_away()) return fail(batch, now);
  Places places;
  if (!find_all(batch, places)) return pass_on(batch, now);
  if (!is_trusted(batch, places, now)) {
    return is_just_lost(batch, places, now) ? fail(batch, now) : pass_on(batch, now);
  }
  ++counts_[kAsyncFromMemory];
  decide_here(batch, places, now);
  batch.on_done(batch);
}

// A look needs no place.
bool AsyncStore::find_all(const Batch& batch, Places& places) {
  const bool looks = batch.operation == Operation::kLook;
  const std::uint64_t removed = removed_;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    places[index] = looks ? keys_.find(charge.key, charge.tag) : place_for(charge);
    if (places[index] == kNobody) return false;
  }
  if (removed == removed_) return true;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];  // one may have made room for another
    if (keys_.find(charge.key, charge.tag) != places[index]) return false;
  }
  return true;
}

bool AsyncStore::is_just_lost(const Batch& batch, const Places& places, Instant now) {
  return std::ranges::any_of(std::span(places).first(batch.charges.size()),
                             [&](std::uint32_t place) {
                               return keys_[place].is_lost && now - keys_[place].lost_at < kLostFor;
                             });
}

// A look wants what Redis knows. A denial by an old copy may be over.
bool AsyncStore::is_trusted(const Batch& batch, const Places& places, Instant now) {
  const bool looks = batch.operation == Operation::kLook;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Key& key = keys_[places[index]];
    if (key.is_lost || is_in_backoff(key.state)) return false;
    if (!key.is_copy && !trips_.is_whole()) return false;
    const bool is_old = !key.is_copy || now - key.synced_at >= 2 * period_;
    if (is_old && (looks || (key.is_denied && key.is_copy))) return false;
  }
  return true;
}

// The next sync tries the keys again.
void AsyncStore::fail(Batch& batch, Instant now) {
  for (const Charge& charge : batch.charges) {
    const std::uint32_t place = keys_.find(charge.key, charge.tag);
    if (place == kNobody) continue;
    enter_pending(place, now);
    touch(place, now);
  }
  batch.fail();
}

void AsyncStore::decide_here(Batch& batch, const Places& places, Instant now) {
  if (batch.operation == Operation::kSpendAll) return spend_all(batch, places, now);
  const bool looks = batch.operation == Operation::kLook;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    const Charge& charge = batch.charges[index];
    batch.decisions[index] = looks ? look(places[index], charge, now)
                                   : spend_at(places[index], charge, batch.operation, now);
  }
}

// A key that comes twice may not fit after all; then the charges before it are undone.
void AsyncStore::spend_all(Batch& batch, const Places& places, Instant now) {
  bool fits = true;
  for (std::size_t index = 0; index < batch.charges.size(); ++index) {
    batch.decisions[index] = look(places[index], batch.charges[index], now);
    fits = fits && batch.decisions[index].allowed();
  }
  std::array<Decision, Batch::kChargesMax> spent;
  std::array<std::pair<SyncedState, std::int64_t>, Batch::kChargesMax> before;
  for (std::size_t index = 0; fits && index < batch.charges.size(); ++index) {
    Key& key = keys_[places[index]];
    before[index] = {key.state, key.pending};
    spent[index] = spend_at(places[index], batch.charges[index], batch.operation, now);
    if (spent[index].allowed()) continue;
    fits = false;
    batch.decisions[index] = spent[index];
    for (std::size_t undone = index; undone-- > 0;) {
      std::tie(keys_[places[undone]].state, keys_[places[undone]].pending) = before[undone];
      note(places[undone]);
    }
  }
  if (fits) std::copy_n(spent.begin(), batch.charges.size(), batch.decisions.begin());
}

Decision AsyncStore::spend_at(std::uint32_t place, const Charge& charge, Operation operation,
                              Instant now) {
  Key& key = keys_[place];
  if (!has_terms(key.quota, *charge.quota)) take_terms(place, *charge.quota);
  const bool always = operation == Operation::kCharge;
  const auto enter = always ? weir::charge : spend;
  const Decision decision = enter(key.quota, key.state, charge.cost, now + key.ahead);
  const bool counts = always ? decision.verdict != Verdict::kNever : decision.allowed();
  if (counts) key.pending = sum_of(key.pending, charge.cost);
  note(place);
  key.is_denied = !decision.allowed();
  is_calm(key, decision, now) ? list_calm(place) : touch(place, now);
  return decision;
}

Decision AsyncStore::look(std::uint32_t place, const Charge& charge, Instant now) {
  const Key& key = keys_[place];
  touch(place, now);
  return look_at(*charge.quota, key.state, charge.cost, now + key.ahead);
}

// The strict store decides, after Redis has charged what this core spent.
void AsyncStore::pass_on(Batch& batch, Instant now) {
  ++counts_[kAsyncPassedOn];
  for (const Charge& charge : batch.charges) {
    const std::uint32_t place = keys_.find(charge.key, charge.tag);
    if (place == kNobody) continue;
    Key& key = keys_[place];
    if (batch.operation == Operation::kReset) {
      forget(place);
    } else if (key.pending > 0 && key.trip == Key::Trip::kNone) {
      set_out(place, now);
    }
    if (!is_synced(charge.quota->active())) continue;
    if (charge.cost < 0 && batch.operation != Operation::kReset) give_back(key, charge, now);
    touch(place, now);
  }
  trips_.flush(now);  // before the strict store sends anything
  strict_.decide(batch, now);
}

// The copy changes as Redis is about to. A sync under way does not include it.
void AsyncStore::give_back(Key& key, const Charge& charge, Instant now) {
  static_cast<void>(spend(key.quota, key.state, charge.cost, now + key.ahead));
  if (key.trip == Key::Trip::kOut) key.trip = Key::Trip::kVoid;
}

// Units that no sync has pushed were never spent in Redis: their refund needs no trip. False if
// the refund exceeds them.
bool AsyncStore::take_back(Batch& batch, Instant now) {
  const Charge& charge = batch.charges.front();
  const bool gives_back =
      charge.cost < 0 && spends(batch.operation) && is_synced(charge.quota->active());
  const std::uint32_t place = keys_.find(charge.key, charge.tag);
  if (!gives_back || batch.charges.size() != 1 || place == kNobody) return false;
  Key& key = keys_[place];
  if (key.pending < -charge.cost) return false;
  key.pending += charge.cost;
  note(place);
  batch.decisions.front() = spend(key.quota, key.state, charge.cost, now + key.ahead);
  ++counts_[kAsyncFromMemory];
  batch.on_done(batch);
  return true;
}

void AsyncStore::forget(std::uint32_t place) {
  Key& key = keys_[place];
  key.state = {};
  key.pending = key.told = key.entered = key.alone = 0;
  key.is_copy = key.is_denied = key.is_lost = false;
  if (key.trip == Key::Trip::kOut) key.trip = Key::Trip::kVoid;
  note(place);
}

// ---- what it owes ----

void AsyncStore::take_terms(std::uint32_t place, const Quota& quota) {
  Key& key = keys_[place];
  key.quota = quota;
  if (key.note != nullptr) owed_->close(*std::exchange(key.note, nullptr));
}

// To be called when pending, told or entered have changed.
void AsyncStore::note(std::uint32_t place) {
  if (owed_ == nullptr) return;
  Key& key = keys_[place];
  const std::int64_t units = key.pending + key.told;
  if (units > 0 && key.note == nullptr) {
    key.note = owed_->open(
        {.key = keys_.key_of(place), .quota = &key.quota, .cost = 0, .tag = keys_.tag_of(place)});
  }
  if (key.note == nullptr) return;
  key.note->entered.store(key.entered + key.told, std::memory_order_relaxed);
  key.note->units.store(units, std::memory_order_release);
  if (units == 0) owed_->close(*std::exchange(key.note, nullptr));
}

void AsyncStore::note_admitted(const Charge& charge, Instant now) {
  if (charge.cost <= 0) return;
  counts_[kAsyncAlone] += charge.cost;
  owe(charge, charge.cost, now);
}

void AsyncStore::owe(const Charge& charge, std::int64_t entered, Instant now) {
  const std::uint32_t place = place_for(charge);
  if (place == kNobody) {
    counts_[kAsyncForgotten] += charge.cost;
    return;
  }
  Key& key = keys_[place];
  take_terms(place, *charge.quota);
  weir::charge(key.quota, key.state, charge.cost, now + key.ahead);
  key.pending = sum_of(key.pending, charge.cost);
  key.entered = sum_of(key.entered, entered);
  key.alone = sum_of(key.alone, charge.cost);
  note(place);
  touch(place, now);
}

// This node's counters are right as of each sync. What came later enters them before they decide.
void AsyncStore::enter_pending(std::uint32_t place, Instant now) {
  Key& key = keys_[place];
  own_counters_.enter({keys_.key_of(place), &key.quota, key.pending - key.entered}, now);
  key.entered = key.pending;
  note(place);
}

// ---- keys ----

// kNobody: there is no room.
std::uint32_t AsyncStore::place_for(const Charge& charge) {
  const std::uint32_t found = keys_.find(charge.key, charge.tag);
  if (found != kNobody || (keys_.is_full() && !make_room())) return found;
  const std::uint32_t place = keys_.add(charge.key, charge.tag);
  keys_[place].quota = *charge.quota;
  keys_[place].ahead = ahead_;
  return place;
}

// Removes one of a few keys in turn whose units Redis has all charged; a key over its limit only if
// all are.
bool AsyncStore::make_room() {
  std::uint32_t leaves = kNobody;
  for (int i = 0; i < kCandidates; ++i) {
    const std::uint32_t place = keys_.next_in_turn();
    const Key& key = keys_[place];
    const bool is_idle = key.listed == Key::Listed::kNo && !key.is_in_calm;
    if (!is_idle || key.pending > 0 || key.trip != Key::Trip::kNone) continue;
    leaves = place;
    if (!key.is_denied) break;
  }
  if (leaves == kNobody) return false;
  keys_.remove(leaves);
  ++removed_;
  return true;
}

}  // namespace weir
