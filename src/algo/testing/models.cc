#include "algo/testing/models.h"

#include <algorithm>

namespace weir::algo::testing {

// ---- windows ---------------------------------------------------------------------------

std::int64_t WindowedModel::units_in(std::int64_t window) const {
  const auto found = units_.find(window);
  return found == units_.end() ? 0 : found->second;
}

bool WindowedModel::holds_units() const {
  for (int i = 0; i < span_; ++i) {
    if (units_in(current_ - i) > 0) return true;
  }
  return false;
}

void WindowedModel::shift_to(std::int64_t window) {
  std::map<std::int64_t, std::int64_t> shifted;
  for (const auto& [at, units] : units_) shifted[at - current_ + window] = units;
  units_ = shifted;
  current_ = window;
}

void WindowedModel::move_on_to(std::int64_t window) {
  current_ = window;
  std::erase_if(units_, [&](const auto& entry) {
    return entry.first > current_ || entry.first <= current_ - span_;
  });
}

bool WindowedModel::give_back(std::int64_t units, std::int64_t window) {
  if (window > current_ || window <= current_ - span_) return false;
  const std::int64_t returned = std::min(units, units_in(window));
  if (returned > 0) units_[window] -= returned;
  return returned > 0;
}

FixedWindowModel FixedWindowModel::at(std::int64_t now_us) const {
  FixedWindowModel then = *this;
  const std::int64_t window = window_of(now_us);
  if (window > current_ || !holds_units()) {
    then.move_on_to(window);
  } else if (is_mistaken(now_us)) {
    then.shift_to(window);
  }
  return then;
}

bool FixedWindowModel::admits(std::int64_t cost, std::int64_t now_us) const {
  const FixedWindowModel then = at(now_us);
  return then.units_in(then.current_) + cost <= limit_;
}

bool FixedWindowModel::is_fresh(std::int64_t now_us) const { return !at(now_us).holds_units(); }

bool FixedWindowModel::is_mistaken(std::int64_t now_us) const {
  return holds_units() && WindowedModel::is_mistaken(now_us);
}

void FixedWindowModel::apply(std::int64_t cost, std::int64_t now_us) {
  FixedWindowModel then = at(now_us);
  if (cost < 0) {
    if (!is_mistaken(now_us) && then.give_back(-cost, window_of(now_us))) *this = then;
  } else if (cost > 0 && cost <= limit_) {
    const bool admitted = admits(cost, now_us);
    if (admitted) then.spend_in_current(cost);
    if (admitted || is_mistaken(now_us)) *this = then;
  }
}

SlidingWindowModel SlidingWindowModel::at(std::int64_t now_us) const {
  SlidingWindowModel then = *this;
  const std::int64_t window = window_of(now_us);
  if (window > current_ || !holds_units()) {
    then.move_on_to(window);
  } else if (is_mistaken(now_us)) {
    then.shift_to(window);
  }
  return then;
}

// The published formula as it stands, as fractions of `width_us_`.
bool SlidingWindowModel::admits(std::int64_t cost, std::int64_t now_us) const {
  const SlidingWindowModel then = at(now_us);
  if (parts_ > 1) {
    std::int64_t units = cost;
    for (int i = 0; i < span_; ++i) units += then.units_in(then.current_ - i);
    return units <= limit_;
  }
  const std::int64_t into_us = std::max<std::int64_t>(0, now_us - then.current_ * width_us_);
  const Int128 previous = Int128{then.units_in(then.current_ - 1)} * (width_us_ - into_us);
  const Int128 current = Int128{then.units_in(then.current_) + cost} * width_us_;
  return previous + current <= Int128{limit_} * width_us_;
}

bool SlidingWindowModel::is_fresh(std::int64_t now_us) const { return !at(now_us).holds_units(); }

bool SlidingWindowModel::is_mistaken(std::int64_t now_us) const {
  return holds_units() && WindowedModel::is_mistaken(now_us);
}

void SlidingWindowModel::apply(std::int64_t cost, std::int64_t now_us) {
  SlidingWindowModel then = at(now_us);
  if (cost < 0) {
    if (!is_mistaken(now_us) && then.give_back(-cost, window_of(now_us))) *this = then;
  } else if (cost > 0 && cost <= limit_) {
    const bool admitted = admits(cost, now_us);
    if (admitted) then.spend_in_current(cost);
    if (admitted || is_mistaken(now_us)) *this = then;
  }
}

// ---- token bucket ----------------------------------------------------------------------

TokenBucketModel::TokenBucketModel(const Quota& quota)
    : capacity_(quota.capacity()),
      limit_(quota.limit()),
      window_us_(quota.window().count()),
      tokens_(full()) {}

Int128 TokenBucketModel::tokens_uncorrected(std::int64_t now_us) const {
  return std::min(full(), tokens_ + Int128{now_us - last_us_} * limit_);
}

bool TokenBucketModel::is_mistaken(std::int64_t now_us) const {
  return tokens_uncorrected(now_us) < Int128{-window_us_} * limit_;
}

Int128 TokenBucketModel::tokens_at(std::int64_t now_us) const {
  return is_mistaken(now_us) ? Int128{0} : tokens_uncorrected(now_us);
}

bool TokenBucketModel::admits(std::int64_t cost, std::int64_t now_us) const {
  return tokens_at(now_us) >= Int128{cost} * window_us_;
}

void TokenBucketModel::apply(std::int64_t cost, std::int64_t now_us) {
  if (cost == 0 || cost > capacity_) return;
  if (cost > 0 && !admits(cost, now_us) && !is_mistaken(now_us)) return;
  Int128 tokens = cost < 0 ? tokens_uncorrected(now_us) : tokens_at(now_us);
  if (cost < 0 && tokens == full()) return;  // nothing to give back
  if (cost < 0 || admits(cost, now_us)) tokens -= Int128{cost} * window_us_;
  tokens_ = std::min(full(), tokens);
  last_us_ = now_us;
}

// ---- sliding log -----------------------------------------------------------------------

bool SlidingLogModel::is_mistaken(std::int64_t now_us) const {
  return !times_us_.empty() && times_us_.back() > now_us + window_us_;
}

std::int64_t SlidingLogModel::count_at(std::int64_t now_us) const {
  if (is_mistaken(now_us)) {
    SlidingLogModel corrected = *this;
    for (std::int64_t& time_us : corrected.times_us_) time_us = std::min(time_us, now_us);
    return corrected.count_at(now_us);
  }
  return std::count_if(times_us_.begin(), times_us_.end(),
                       [&](std::int64_t time_us) { return time_us + window_us_ > now_us; });
}

void SlidingLogModel::apply(std::int64_t cost, std::int64_t now_us) {
  std::erase_if(times_us_, [&](std::int64_t time_us) { return time_us + window_us_ <= now_us; });
  if (cost < 0) {
    const auto returned =
        std::min<std::int64_t>(-cost, static_cast<std::int64_t>(times_us_.size()));
    times_us_.erase(times_us_.begin(), times_us_.begin() + returned);
    return;
  }
  if (cost == 0 || cost > limit_) return;
  if (is_mistaken(now_us)) {
    for (std::int64_t& time_us : times_us_) time_us = std::min(time_us, now_us);
  }
  if (!admits(cost, now_us)) return;
  const std::int64_t time_us = times_us_.empty() ? now_us : std::max(now_us, times_us_.back());
  times_us_.insert(times_us_.end(), static_cast<std::size_t>(cost), time_us);
}

// ---- exponential backoff ---------------------------------------------------------------

bool ExponentialBackoffModel::holds_nothing() const {
  return !holds_units() && level_ == 0 && row_ == 0;
}

ExponentialBackoffModel ExponentialBackoffModel::at(std::int64_t now_us) const {
  ExponentialBackoffModel then = *this;
  const std::int64_t window = window_of(now_us);
  if (holds_nothing()) {
    then.move_on_to(window);
    then.quiet_ = true;
  } else if (WindowedModel::is_mistaken(now_us)) {
    then.shift_to(window);
  }
  for (; then.current_ < window && !then.holds_nothing(); ++then.current_) {
    then.units_.clear();
    if (then.quiet_) {
      then.level_ = std::max(0, then.level_ - 1);
      then.row_ = 0;
    }
    then.quiet_ = true;
  }
  then.current_ = std::max(then.current_, window);
  then.cooldown_until_us_ = std::min(cooldown_until_us_, now_us + 32'000'000);
  return then;
}

std::int64_t ExponentialBackoffModel::limit(std::int64_t now_us) const {
  std::int64_t limit = limit_;
  for (int i = 0; i < level(now_us); ++i)
    limit = std::max(std::min<std::int64_t>(1, limit_), limit / 2);
  return limit;
}

bool ExponentialBackoffModel::admits(std::int64_t cost, std::int64_t now_us) const {
  const ExponentialBackoffModel then = at(now_us);
  return !then.in_cooldown(now_us) && then.units_in(then.current_) + cost <= limit(now_us);
}

bool ExponentialBackoffModel::is_fresh(std::int64_t now_us) const {
  const ExponentialBackoffModel then = at(now_us);
  return then.holds_nothing() && !then.in_cooldown(now_us);
}

bool ExponentialBackoffModel::is_mistaken(std::int64_t now_us) const {
  return (!holds_nothing() && WindowedModel::is_mistaken(now_us)) ||
         cooldown_until_us_ > now_us + 32'000'000;
}

void ExponentialBackoffModel::apply(std::int64_t cost, std::int64_t now_us) {
  ExponentialBackoffModel then = at(now_us);
  if (cost < 0) {
    const bool same = then.current_ == current_ && window_of(now_us) == current_;
    if (same && then.give_back(-cost, current_)) *this = then;
  } else if (cost > 0 && cost <= limit_) {
    if (!admits(cost, now_us)) return apply_denial(now_us);
    then.spend_in_current(cost);
    then.row_ = 0;
    *this = then;
  }
}

void ExponentialBackoffModel::apply_denial(std::int64_t now_us) {
  if (limit_ == 0) return;
  ExponentialBackoffModel then = at(now_us);
  if (!then.in_cooldown(now_us)) {
    then.quiet_ = false;
    if (++then.row_ == 10) {
      then.row_ = 0;
      then.level_ = std::min(5, then.level_ + 1);
      if (then.level_ == 5) then.cooldown_until_us_ = now_us + 32'000'000;
    }
  } else if (!is_mistaken(now_us)) {
    return;
  }
  *this = then;
}

}  // namespace weir::algo::testing
