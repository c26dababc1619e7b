// The syncs of mode async: which keys are due, and what a sync brings.

#include <algorithm>
#include <functional>
#include <utility>

#include "store/redis/async/async_store.h"
#include "store/redis/async/synced_state.h"

namespace weir {
namespace {

// The first syncs that hurry in a period go at once, later ones keep an eighth of it between them:
// 6 ms, if the interval is 100. Else thousands of keys a second, each after a while, would make a
// trip for each few requests.
constexpr int kHurriedAtOnce = 8;
constexpr int kHastePart = 8;

}  // namespace

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
  if (!is_old || !trips_.is_idle()) return sync_by(last_sync_ + period_);
  sync_by(syncs_ < kHurriedAtOnce ? Instant{} : last_sync_ + period_ / kHastePart);
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
  if (now - counted_from_ >= period_) {
    counted_from_ = now;
    syncs_ = 0;
  }
  ++syncs_;
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
  drop_expired(errand.place, now);
  key.entered = 0;
  errand.quota = key.quota;
  errand.units = key.told = std::exchange(key.pending, 0);
  ++counts_[kAsyncPushes];
}

// Pushes only as much of what was admitted alone as the algorithm still counts: an outage may have
// lasted for many windows.
void AsyncStore::drop_expired(std::uint32_t place, Instant now) {
  Key& key = keys_[place];
  if (key.alone == 0) return;
  const Decision left = look_at(key.quota, key.state, 0, now + key.ahead);
  const std::int64_t counted = key.quota.capacity() - left.remaining;
  if (left.remaining == 0 || key.pending <= counted) return;
  const std::int64_t expired = std::min(key.alone, key.pending - counted);
  key.pending -= expired;
  key.entered -= std::min(key.entered, expired);
  key.alone -= expired;
  counts_[kAsyncForgotten] += expired;
  note(place);
}

// Makes room while Redis is away: some keys in turn owe it nothing any more.
void AsyncStore::forget_expired(Instant now) {
  constexpr std::size_t kAtOnce = 1024;
  for (std::size_t i = std::min(kAtOnce, touched_.size()); i > 0; --i) {
    swept_ = swept_ + 1 < touched_.size() ? swept_ + 1 : 0;
    Key& key = keys_[touched_[swept_]];
    if (key.alone == 0 || key.trip != Key::Trip::kNone) continue;
    drop_expired(touched_[swept_], now);
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
  note(errand.place);
  key.alone = std::min(key.alone, key.pending);
  key.is_lost = false;
  if (std::exchange(key.trip, Key::Trip::kNone) == Key::Trip::kVoid) return failure;
  key.ahead = ahead_;
  key.state = state;
  key.is_copy = is_synced(errand.quota.active()) && !is_in_backoff(state);
  if (key.is_copy) {
    const Charge charge = errand.charge();
    own_counters_.lower(charge, look_at(errand.quota, state, 0, now + ahead_), now);
  }
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
