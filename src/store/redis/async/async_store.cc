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

std::int64_t sum_of(std::int64_t units, std::int64_t more) {
  return std::min(kCostMax, units + more);
}

}  // namespace

AsyncStore::AsyncStore(const AsyncStoreOptions& options, Store& strict, RedisClient& client,
                       Reactor& reactor, RedisListener& listener)
    : stores_(options.stores),
      strict_(strict),
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
    }
  }
  if (fits) std::copy_n(spent.begin(), batch.charges.size(), batch.decisions.begin());
}

Decision AsyncStore::spend_at(std::uint32_t place, const Charge& charge, Operation operation,
                              Instant now) {
  Key& key = keys_[place];
  if (!has_terms(key.quota, *charge.quota)) key.quota = *charge.quota;
  const auto [decision, units] =
      enter(operation, key.quota, key.state, charge.cost, now + key.ahead);
  key.pending = sum_of(key.pending, units);
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
      forget(key);
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
  batch.decisions.front() = spend(key.quota, key.state, charge.cost, now + key.ahead);
  ++counts_[kAsyncFromMemory];
  batch.on_done(batch);
  return true;
}

void AsyncStore::forget(Key& key) {
  key.state = {};
  key.pending = key.told = key.entered = key.alone = 0;
  key.is_copy = key.is_denied = key.is_lost = false;
  if (key.trip == Key::Trip::kOut) key.trip = Key::Trip::kVoid;
}

void AsyncStore::note_admitted(const Charge& charge, Instant now) {
  if (charge.cost <= 0) return;
  counts_[kAsyncAlone] += charge.cost;
  const std::uint32_t place = place_for(charge);
  if (place == kNobody) {
    counts_[kAsyncForgotten] += charge.cost;
    return;
  }
  Key& key = keys_[place];
  key.quota = *charge.quota;
  weir::charge(key.quota, key.state, charge.cost, now + key.ahead);
  key.pending = sum_of(key.pending, charge.cost);
  key.entered = sum_of(key.entered, charge.cost);
  key.alone = sum_of(key.alone, charge.cost);
  touch(place, now);
}

// This node's counters are right as of each sync. What came later enters them before they decide.
void AsyncStore::enter_pending(std::uint32_t place, Instant now) {
  Key& key = keys_[place];
  own_counters_.enter({keys_.key_of(place), &key.quota, key.pending - key.entered}, now);
  key.entered = key.pending;
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

// ---- syncs ----

Duration AsyncStore::calm_length(const Quota& quota) const {
  return std::min(2 * kCalmIntervals * period_, quota.window() / 2);
}

bool AsyncStore::is_calm(const Key& key, const Decision& decision, Instant now) const {
  return key.is_copy && key.alone == 0 && decision.remaining >= key.quota.capacity() / 2 &&
         key.pending < key.quota.capacity() / untold_part_ &&
         now - key.synced_at < calm_length(key.quota);
}

// Plans a sync for when the calm is over. Keys that came together fall out of step, which spreads
// their syncs over time.
void AsyncStore::list_calm(std::uint32_t place) {
  constexpr std::uint32_t kSteps = 16;
  Key& key = keys_[place];
  if (key.listed != Key::Listed::kNo) return;
  key.listed = Key::Listed::kCalm;
  key.calm_until =
      key.synced_at + calm_length(key.quota) * (3 * kSteps + place % kSteps) / (4 * kSteps);
  if (!std::exchange(key.is_in_calm, true)) push_calm({key.calm_until, place});
}

void AsyncStore::push_calm(const Calm& calm) {
  calm_.push_back(calm);
  std::ranges::push_heap(calm_, std::ranges::greater{}, &Calm::until);
  sync_by(std::max(calm_.front().until, last_sync_ + period_));
}

void AsyncStore::wake_calm(Instant now) {
  while (!calm_.empty() && calm_.front().until <= now) {
    const std::uint32_t place = calm_.front().place;
    std::ranges::pop_heap(calm_, std::ranges::greater{}, &Calm::until);
    calm_.pop_back();
    Key& key = keys_[place];
    key.is_in_calm = false;
    if (key.listed != Key::Listed::kCalm) continue;
    if (key.calm_until <= now) {
      list(place);
    } else {  // listed again meanwhile
      key.is_in_calm = true;
      push_calm({key.calm_until, place});
    }
  }
}

// Plans a sync of the key.
void AsyncStore::touch(std::uint32_t place, Instant now) {
  list(place);
  const bool is_old = now - keys_[place].synced_at >= period_;
  sync_by(is_old && trips_.is_idle() ? Instant{} : last_sync_ + period_);
}

void AsyncStore::list(std::uint32_t place) {
  if (std::exchange(keys_[place].listed, Key::Listed::kSoon) == Key::Listed::kSoon) return;
  touched_.push_back(place);
}

void AsyncStore::sync_by(Instant when) {
  if (when >= next_sync_) return;
  next_sync_ = when;
  sync_alarm_->set(when);
}

// A key whose sync is still under way waits for the next.
void AsyncStore::sync_touched(Instant now) {
  next_sync_ = Instant::max();
  last_sync_ = now;
  if (trips_.is_away()) {
    forget_expired(now);
    return sync_by(now + period_);
  }
  untold_part_ = kUntoldPart * stores_();
  wake_calm(now);
  std::swap(touched_, syncing_);
  for (const std::uint32_t place : syncing_) {
    Key& key = keys_[place];
    key.listed = Key::Listed::kNo;
    if (key.trip != Key::Trip::kNone) {
      list(place);
      continue;
    }
    set_out(place, now);
  }
  syncing_.clear();
  trips_.flush(now);
  if (!touched_.empty()) sync_by(now + period_);
  if (!calm_.empty()) sync_by(std::max(calm_.front().until, now + period_));
}

void AsyncStore::set_out(std::uint32_t place, Instant now) {
  Key& key = keys_[place];
  key.trip = Key::Trip::kOut;
  key.synced_at = now;
  const bool is_added = trips_.add({.operation = ScriptOperation::kSync,
                                    .place = place,
                                    .key = keys_.key_of(place),
                                    .tag = keys_.tag_of(place),
                                    .quota = key.quota});
  if (is_added) return;
  key.trip = Key::Trip::kNone;  // with the next sync
  list(place);
}

void AsyncStore::leaving(Errand& errand, Instant now) {
  enter_pending(errand.place, now);
  Key& key = keys_[errand.place];
  drop_expired(key, now);
  key.entered = 0;
  errand.quota = key.quota;
  errand.units = key.told = std::exchange(key.pending, 0);
  ++counts_[kAsyncPushes];
}

// Pushes only as much of what was admitted alone as the algorithm still counts: an outage may have
// lasted for many windows.
void AsyncStore::drop_expired(Key& key, Instant now) {
  if (key.alone == 0) return;
  const Decision left = look_at(key.quota, key.state, 0, now + key.ahead);
  const std::int64_t counted = key.quota.capacity() - left.remaining;
  if (left.remaining == 0 || key.pending <= counted) return;
  const std::int64_t expired = std::min(key.alone, key.pending - counted);
  key.pending -= expired;
  key.entered -= std::min(key.entered, expired);
  key.alone -= expired;
  counts_[kAsyncForgotten] += expired;
}

// Makes room while Redis is away: some keys in turn owe it nothing any more.
void AsyncStore::forget_expired(Instant now) {
  constexpr std::size_t kAtOnce = 1024;
  for (std::size_t i = std::min(kAtOnce, touched_.size()); i > 0; --i) {
    swept_ = swept_ + 1 < touched_.size() ? swept_ + 1 : 0;
    Key& key = keys_[touched_[swept_]];
    if (key.alone == 0 || key.trip != Key::Trip::kNone) continue;
    drop_expired(key, now);
    if (key.pending > 0) continue;
    key.listed = Key::Listed::kNo;
    touched_[swept_] = touched_.back();
    touched_.pop_back();
  }
}

void AsyncStore::catch_up(Instant now) {
  trips_.believe(now);
  if (!touched_.empty()) sync_touched(now);
}

ChargeFailure AsyncStore::done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                               Instant now) {
  SyncedState state;
  const ChargeFailure failure = replies.read_state(errand.quota, state);
  if (failure != ChargeFailure::kNone) return failure;
  ahead_ = replies.time() - (asked_at + (now - asked_at) / 2);
  counts_[kAsyncPushed] += errand.units;
  ++counts_[kAsyncMerged];
  Key& key = keys_[errand.place];
  key.told = 0;
  key.alone = std::min(key.alone, key.pending);
  key.is_lost = false;
  if (std::exchange(key.trip, Key::Trip::kNone) == Key::Trip::kVoid) return failure;
  key.ahead = ahead_;
  key.state = state;
  key.is_copy = is_synced(errand.quota.active()) && !is_in_backoff(state);
  weir::charge(key.quota, key.state, key.pending, now + key.ahead);
  return failure;
}

void AsyncStore::lost(const Errand& errand, Instant now) {
  Key& key = keys_[errand.place];
  key.trip = Key::Trip::kNone;
  if (!trips_.is_away()) {
    key.is_lost = true;
    key.lost_at = now;
  }
  key.pending = sum_of(key.pending, key.told);
  key.entered = sum_of(key.entered, std::exchange(key.told, 0));
  if (key.pending == 0) return;
  list(errand.place);
  sync_by(now + period_);
}

// Pushes calm keys, too.
bool AsyncStore::tell_all(Instant now) {
  if (trips_.is_away()) return true;
  for (const Calm& calm : calm_) {
    keys_[calm.place].is_in_calm = false;
    if (keys_[calm.place].listed == Key::Listed::kCalm) list(calm.place);
  }
  calm_.clear();  // and keep what it has reserved
  if (touched_.empty() && trips_.is_idle()) return true;
  sync_touched(now);
  return false;
}

}  // namespace weir
