#include "store/redis/async/syncs.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// The first hurried syncs in a period go at once, later ones keep an eighth of it apart: 6 ms, if
// the interval is 100. Else thousands of keys a second, each after a while, would make a trip for
// each few requests.
constexpr int kHurriedAtOnce = 8;
constexpr int kHastePart = 8;

}  // namespace

Syncs::Syncs(const AsyncStoreOptions& options, RedisSender& sender, Reactor& reactor,
             FleetCounts& counts)
    : stores_(options.stores),
      owed_(options.owed),
      told_waiting_(options.waiting_since),
      sender_(sender),
      counts_(counts),
      keys_(options.keys),
      own_counters_(options.redis.own_counters, options.redis.live_nodes),
      period_(options.interval / 2),
      sync_alarm_(reactor.make_alarm([this](Instant now) { sync_touched(now); })) {
  calm_.reserve(options.keys);
  touched_.reserve(options.keys);
  syncing_.reserve(options.keys);
}

// ---- keys ----

std::uint32_t Syncs::number_for(const Charge& charge) {
  const std::uint32_t found = keys_.find(charge.key, charge.tag);
  if (found != kNobody || (keys_.is_full() && !make_room())) return found;
  const std::uint32_t number = keys_.add(charge.key, charge.tag);
  keys_[number].copy = AsyncKey(*charge.quota, ahead_);
  return number;
}

// Removes a key whose units Redis has all charged. A key over its limit goes last.
bool Syncs::make_room() {
  using MayLeave = Keys::MayLeave;
  const std::uint32_t leaves = keys_.one_to_leave([&](std::uint32_t number) {
    const SyncingKey& key = keys_[number];
    const bool is_idle = key.listed == SyncingKey::Listed::kNo && !key.is_in_calm;
    if (!is_idle || key.copy.owed().units > 0 || key.copy.is_out()) return MayLeave::kNo;
    return key.copy.is_denied() ? MayLeave::kIfNoOtherDoes : MayLeave::kYes;
  });
  if (leaves == kNobody) return false;
  keys_.remove(leaves);
  ++removed_;
  return true;
}

// ---- what a key owes ----

void Syncs::note(std::uint32_t number) {
  if (owed_ == nullptr) return;
  SyncingKey& key = keys_[number];
  const auto [units, entered] = key.copy.owed();
  if (units > 0 && key.note == nullptr) {
    key.note = owed_->open(keys_.charge_of(number, &key.copy.quota()));
  }
  if (key.note == nullptr) return;
  key.note->entered.store(entered, std::memory_order_relaxed);
  key.note->units.store(units, std::memory_order_release);
  if (units == 0) owed_->close(*std::exchange(key.note, nullptr));
}

void Syncs::follow(std::uint32_t number, const Quota& quota) {
  SyncingKey& key = keys_[number];
  if (key.copy.follow(quota) && key.note != nullptr) {
    owed_->close(*std::exchange(key.note, nullptr));
  }
}

void Syncs::owe(const Charge& charge, std::int64_t entered, Instant now) {
  const std::uint32_t number = number_for(charge);
  if (number == kNobody) {
    counts_[kAsyncForgotten] += charge.cost;
    return;
  }
  follow(number, *charge.quota);
  keys_[number].copy.admit(charge.cost, entered, now);
  note(number);
  touch(number, now);
}

void Syncs::enter_pending(std::uint32_t number, Instant now) {
  AsyncKey& copy = keys_[number].copy;
  own_counters_.enter({keys_.key_of(number), &copy.quota(), copy.enter()}, now);
  note(number);
}

// ---- when a key is due ----

void Syncs::spent(std::uint32_t number, const Decision& decision, Instant now) {
  note(number);
  const bool is_calm = keys_[number].copy.is_calm(decision, untold_part_, 2 * period_, now);
  is_calm ? list_calm(number) : touch(number, now);
}

// Plans a sync at the end of the calm.
void Syncs::list_calm(std::uint32_t number) {
  SyncingKey& key = keys_[number];
  if (key.listed != SyncingKey::Listed::kNo) return;
  key.listed = SyncingKey::Listed::kCalm;
  key.calm_until = key.copy.calm_until(2 * period_, number);
  if (!std::exchange(key.is_in_calm, true)) push_calm({key.calm_until, number});
}

void Syncs::push_calm(const Calm& calm) {
  calm_.push_back(calm);
  std::ranges::push_heap(calm_, std::ranges::greater{}, &Calm::until);
  sync_by(std::max(calm_.front().until, last_sync_ + period_));
}

void Syncs::wake_calm(Instant now) {
  while (!calm_.empty() && calm_.front().until <= now) {
    const std::uint32_t number = calm_.front().number;
    std::ranges::pop_heap(calm_, std::ranges::greater{}, &Calm::until);
    calm_.pop_back();
    SyncingKey& key = keys_[number];
    key.is_in_calm = false;
    if (key.listed != SyncingKey::Listed::kCalm) continue;
    if (key.calm_until <= now) {
      list(number);
    } else {  // listed again meanwhile
      key.is_in_calm = true;
      push_calm({key.calm_until, number});
    }
  }
}

void Syncs::touch(std::uint32_t number, Instant now) {
  list(number);
  if (!keys_[number].copy.is_older_than(period_, now) || errands_ > 0)
    return sync_by(last_sync_ + period_);
  sync_by(syncs_ < kHurriedAtOnce ? Instant{} : last_sync_ + period_ / kHastePart);
}

void Syncs::list(std::uint32_t number) {
  if (std::exchange(keys_[number].listed, SyncingKey::Listed::kSoon) == SyncingKey::Listed::kSoon)
    return;
  touched_.push_back(number);
}

void Syncs::sync_by(Instant when) {
  if (when >= next_sync_) return;
  next_sync_ = when;
  sync_alarm_->set(when);
}

// A key whose sync is still under way waits for the next.
void Syncs::sync_touched(Instant now) {
  next_sync_ = Instant::max();
  last_sync_ = now;
  if (now - counted_from_ >= period_) {
    counted_from_ = now;
    syncs_ = 0;
  }
  ++syncs_;
  if (sender_.is_away()) {
    forget_expired(now);
    return sync_by(now + period_);
  }
  untold_part_ = AsyncKey::kUntoldPart * stores_();
  wake_calm(now);
  std::swap(touched_, syncing_);
  for (const std::uint32_t number : syncing_) {
    SyncingKey& key = keys_[number];
    key.listed = SyncingKey::Listed::kNo;
    key.copy.is_out() ? list(number) : set_out(number, Departure::Lane::kPatient, now);
  }
  syncing_.clear();
  sender_.flush(now);
  if (!touched_.empty()) sync_by(now + period_);
  if (!calm_.empty()) sync_by(std::max(calm_.front().until, now + period_));
}

void Syncs::set_out(std::uint32_t number, Departure::Lane lane, Instant now) {
  const Errand errand{.owner = this, .number = number, .operation = ScriptOperation::kSync};
  const bool is_added = sender_.add(errand, keys_.charge_of(number), {.lane = lane}, now);
  if (!is_added) return list(number);  // with the next sync
  if (errands_++ == 0) wait_since(now);
  keys_[number].copy.set_out(now);
}

// Relaxed: it orders nothing else.
void Syncs::wait_since(Instant since) {
  waiting_since_ = since;
  if (told_waiting_ != nullptr) told_waiting_->store(since, std::memory_order_relaxed);
}

// A sync is back, or lost. Syncs that are still out have set out later.
void Syncs::ended(Instant rest_since) {
  wait_since(--errands_ == 0 ? Instant::max() : std::max(waiting_since_, rest_since));
}

bool Syncs::pack(Errand& errand, ChargeCall& words, Instant now) {
  errand.deadline = now + AsyncKey::kPatience;
  enter_pending(errand.number, now);
  drop_expired(errand.number, now);
  AsyncKey& copy = keys_[errand.number].copy;
  const Charge charge = keys_.charge_of(errand.number, &copy.quota(), copy.leave());
  words.add(ScriptOperation::kSync, {&charge, 1});
  ++counts_[kAsyncPushes];
  return true;
}

// Pushes only those units admitted alone that the algorithm still counts: an outage may have lasted
// for many windows.
void Syncs::drop_expired(std::uint32_t number, Instant now) {
  const std::int64_t expired = keys_[number].copy.drop_expired(now);
  counts_[kAsyncForgotten] += expired;
  if (expired > 0) note(number);
}

// Makes room while Redis is away: some keys in turn owe it nothing any more.
void Syncs::forget_expired(Instant now) {
  constexpr std::size_t kAtOnce = 1024;
  for (std::size_t i = std::min(kAtOnce, touched_.size()); i > 0; --i) {
    swept_ = swept_ + 1 < touched_.size() ? swept_ + 1 : 0;
    SyncingKey& key = keys_[touched_[swept_]];
    if (!key.copy.is_alone() || key.copy.is_out()) continue;
    drop_expired(touched_[swept_], now);
    if (key.copy.owed().units > 0) continue;
    key.listed = SyncingKey::Listed::kNo;
    touched_[swept_] = touched_.back();
    touched_.pop_back();
  }
}

void Syncs::catch_up(Instant now) {
  if (!touched_.empty()) sync_touched(now);
}

ChargeFailure Syncs::answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                              Instant now) {
  AsyncKey& copy = keys_[errand.number].copy;
  SyncedState state;
  const ChargeFailure failure = replies.read_state(copy.quota(), state);
  if (failure != ChargeFailure::kNone) return failure;
  ended(asked_at);
  ahead_ = replies.time() - (asked_at + (now - asked_at) / 2);
  const std::int64_t owed = copy.owed().units;
  const bool is_copy = copy.receive(state, ahead_, now);
  counts_[kAsyncPushed] += owed - copy.owed().units;
  ++counts_[kAsyncMerged];
  const Duration trip = now - asked_at;
  peaks_.note_trip(trip, now);
  const Duration period = trip > period_ ? period_ + trip : period_;
  peaks_.note_units(copy.quota(), copy.grown_in(period), now);
  note(errand.number);
  if (is_copy) {
    const Charge charge{.key = keys_.key_of(errand.number), .quota = &copy.quota(), .cost = 0};
    own_counters_.lower(charge, look_at(copy.quota(), state, 0, now + ahead_), now);
  }
  return failure;
}

void Syncs::lost(const Errand& errand, Instant now) {
  ended(waiting_since_);
  AsyncKey& copy = keys_[errand.number].copy;
  copy.lose(sender_.is_away() ? AsyncKey::IsThere::kNo : AsyncKey::IsThere::kYes, now);
  if (copy.owed().units == 0) return;
  list(errand.number);
  sync_by(now + period_);
}

// Pushes calm keys, too.
bool Syncs::tell_all(Instant now) {
  if (sender_.is_away()) return true;
  for (const Calm& calm : calm_) {
    keys_[calm.number].is_in_calm = false;
    if (keys_[calm.number].listed == SyncingKey::Listed::kCalm) list(calm.number);
  }
  calm_.clear();  // and keep what it has reserved
  if (touched_.empty() && errands_ == 0) return true;
  sync_touched(now);
  return false;
}

}  // namespace weir
