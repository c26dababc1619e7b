#include "store/redis/async/async_key.h"

#include <algorithm>
#include <utility>

#include "algo/wide_math.h"

namespace weir {
namespace {

Duration calm_length(const Quota& quota, Duration interval) {
  return std::min(AsyncKey::kCalmIntervals * interval, quota.window() / 2);
}

std::int64_t sum_of(std::int64_t units, std::int64_t more) {
  return std::min(2 * kCostMax, units + more);
}

}  // namespace

bool AsyncKey::follow(const Quota& quota) {
  const bool is_same = quota_.limit() == quota.limit() && quota_.capacity() == quota.capacity() &&
                       quota_.switch_number() == quota.switch_number();
  if (!is_same) quota_ = quota;
  return !is_same;
}

// ---- checks ----

// If a drain does not fit, it first takes the rest. A charge may leave a debt.
Decision AsyncKey::spend(Operation operation, std::int64_t cost, Instant now) {
  const Instant at_redis = now + ahead_;
  std::int64_t rest = 0;
  if (operation == Operation::kDrain) {
    const Decision seen = look_at(quota_, state_, cost, at_redis);
    if (!seen.allowed()) rest = seen.remaining;
    if (rest > 0 && !weir::spend(quota_, state_, rest, at_redis).allowed()) rest = 0;
  }
  const bool is_charge = operation == Operation::kCharge;
  const Decision decision = is_charge ? charge(quota_, state_, cost, at_redis)
                                      : weir::spend(quota_, state_, cost, at_redis);
  const bool counts = is_charge ? decision.verdict != Verdict::kNever : decision.allowed();
  pending_ = sum_of(pending_, rest + (counts ? cost : 0));
  is_denied_ = !decision.allowed();
  return decision;
}

void AsyncKey::undo(const Mark& mark) {
  state_ = mark.state;
  pending_ = mark.pending;
}

AsyncKey::Trust AsyncKey::trust(Operation operation, IsWhole is_whole, Duration interval,
                                Instant now) const {
  if (is_lost_) return now - lost_at_ < kLostFor ? Trust::kLost : Trust::kNo;
  if (is_in_backoff(state_)) return Trust::kNo;
  if (!is_copy_ && is_whole == IsWhole::kNo) return Trust::kNo;
  const bool is_old = !is_copy_ || now - synced_at_ >= interval;
  const bool is_doubted = operation == Operation::kLook || (is_denied_ && is_copy_);
  return is_old && is_doubted ? Trust::kNo : Trust::kYes;
}

bool AsyncKey::is_calm(const Decision& decision, std::int64_t untold_part, Duration interval,
                       Instant now) const {
  return is_copy_ && alone_ == 0 && decision.remaining >= quota_.capacity() / 2 &&
         pending_ < quota_.capacity() / untold_part &&
         now - synced_at_ < calm_length(quota_, interval);
}

Instant AsyncKey::calm_until(Duration interval, std::uint32_t step) const {
  return synced_at_ + calm_length(quota_, interval) * (3 * kSteps + step % kSteps) / (4 * kSteps);
}

std::optional<Decision> AsyncKey::take_back(std::int64_t cost, Instant now) {
  if (pending_ < -cost) return std::nullopt;
  pending_ += cost;
  return weir::spend(quota_, state_, cost, now + ahead_);
}

// The copy changes as Redis's state is about to. A sync under way lacks this change.
void AsyncKey::give_back(std::int64_t cost, Instant now) {
  static_cast<void>(weir::spend(quota_, state_, cost, now + ahead_));
  if (trip_ == Trip::kOut) trip_ = Trip::kVoid;
}

void AsyncKey::forget() {
  state_ = {};
  pending_ = told_ = entered_ = alone_ = 0;
  is_copy_ = is_denied_ = is_lost_ = false;
  if (trip_ == Trip::kOut) trip_ = Trip::kVoid;
}

void AsyncKey::admit(std::int64_t units, std::int64_t entered, Instant now) {
  charge(quota_, state_, units, now + ahead_);
  pending_ = sum_of(pending_, units);
  entered_ = sum_of(entered_, entered);
  alone_ = sum_of(alone_, units);
}

// ---- syncs ----

std::int64_t AsyncKey::enter() { return pending_ - std::exchange(entered_, pending_); }

std::int64_t AsyncKey::drop_expired(Instant now) {
  if (alone_ == 0) return 0;
  const Decision left = look_at(quota_, state_, 0, now + ahead_);
  const std::int64_t counted = quota_.capacity() - left.remaining;
  if (left.remaining == 0 || pending_ <= counted) return 0;
  const std::int64_t expired = std::min(alone_, pending_ - counted);
  pending_ -= expired;
  entered_ -= std::min(entered_, expired);
  alone_ -= expired;
  return expired;
}

void AsyncKey::set_out(Instant now) {
  trip_ = Trip::kOut;
  synced_before_ = std::exchange(synced_at_, now);
}

std::int64_t AsyncKey::leave() {
  entered_ = 0;
  told_ = std::exchange(pending_, 0);
  return told_;
}

bool AsyncKey::receive(const SyncedState& state, Duration ahead, Instant now) {
  grown_ = std::exchange(told_, 0);
  alone_ = std::min(alone_, pending_);
  is_lost_ = false;
  if (std::exchange(trip_, Trip::kNone) == Trip::kVoid) return false;
  ahead_ = ahead;
  const std::int64_t known = held(quota_, state_, now + ahead_);
  state_ = state;
  const bool was_copy =
      std::exchange(is_copy_, is_copied(quota_.active()) && !is_in_backoff(state));
  charge(quota_, state_, pending_, now + ahead_);
  if (!was_copy) {
    synced_before_ = synced_at_;  // units from before this node knew the key are no growth
  } else if (is_copy_) {
    grown_ += std::max<std::int64_t>(0, held(quota_, state_, now + ahead_) - known);
  }
  return is_copy_;
}

std::int64_t AsyncKey::grown_in(Duration period) const {
  const Duration apart = synced_at_ - synced_before_;
  if (apart <= 2 * period) return grown_;
  return algo::mul_div_ceil(grown_, period.count(), apart.count());
}

void AsyncKey::lose(IsThere is_there, Instant now) {
  trip_ = Trip::kNone;
  if (is_there == IsThere::kYes) {
    is_lost_ = true;
    lost_at_ = now;
  }
  pending_ = sum_of(pending_, told_);
  entered_ = sum_of(entered_, std::exchange(told_, 0));
}

}  // namespace weir
