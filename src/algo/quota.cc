#include "weir/quota.h"

#include <algorithm>
#include <numeric>

#include "algo/wide_math.h"

namespace weir {
namespace {

Error invalid(std::string_view field, std::string_view expected) noexcept {
  return {ErrorCode::kInvalidQuota, field, expected};
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) noexcept {
  if (algorithm == Algorithm::kStrictWindow) algorithm = Algorithm::kSlidingWindow;
  if (algorithm == Algorithm::kCalendarWindow) algorithm = Algorithm::kFixedWindow;
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::optional<Algorithm> algorithm_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kAlgorithmNames.size(); ++i) {
    if (kAlgorithmNames[i] == name) return static_cast<Algorithm>(i);
  }
  return std::nullopt;
}

Result<Quota> Quota::make(const QuotaSpec& spec) noexcept {
  if (spec.algorithm > Algorithm::kCalendarWindow) {
    return invalid("algorithm", "one of the six algorithms");
  }
  if (spec.limit < 0 || spec.limit > kLimitMax) {
    return invalid("limit", "a whole number from 0 to 1,000,000,000,000");
  }
  if (spec.window < kWindowMin || spec.window > kWindowMax) {
    return invalid("window", "a duration from 1 ms to 366 days");
  }
  if (spec.algorithm != Algorithm::kTokenBucket && spec.burst != 0) {
    return invalid("burst", "0, as only token_bucket has a burst");
  }
  if (spec.burst < 0 || spec.burst > kLimitMax) {
    return invalid("burst", "a whole number from 0 to 1,000,000,000,000");
  }

  Quota quota;
  quota.algorithm_ = quota.active_ = spec.algorithm;
  quota.limit_ = spec.limit;
  quota.window_us_ = spec.window.count();
  quota.capacity_ = spec.limit;
  if (spec.algorithm >= Algorithm::kAdaptive) quota.active_ = Algorithm::kSlidingWindow;
#ifndef __wasm__  // the wasm modules take no limits by a calendar
  if (spec.algorithm >= Algorithm::kAdaptive && quota.is_by_calendar()) {
    if (std::ranges::find(kCalendarUnitLengths, spec.window) == kCalendarUnitLengths.end()) {
      return invalid("window", "a day, a week, a month or a year of a calendar");
    }
    quota.active_ = Algorithm::kFixedWindow;
    quota.set_window_ends({});
  }
#endif
  const bool has_ticks = quota.switches() || spec.algorithm == Algorithm::kTokenBucket;
  if (!has_ticks || spec.limit == 0) return quota;

  if (spec.burst > 0) quota.capacity_ = spec.burst;
  const auto fill_time_times_limit = algo::Int128{quota.capacity_} * quota.window_us_;
  if (fill_time_times_limit > algo::Int128{kFillTimeMax.count()} * quota.limit_) {
    return invalid("burst", "at most what is refilled in 4 * 366 days");
  }
  const std::int64_t divisor = std::gcd(quota.window_us_, quota.limit_);
  quota.ticks_per_unit_ = quota.window_us_ / divisor;
  quota.ticks_per_us_ = quota.limit_ / divisor;
  return quota;
}

CalendarUnit Quota::calendar_unit() const noexcept {
  return static_cast<CalendarUnit>(std::ranges::find(kCalendarUnitLengths, window()) -
                                   kCalendarUnitLengths.begin());
}

void Quota::set_window_ends(const WindowEnds& ends) noexcept {
  const auto previous = std::chrono::floor<std::chrono::seconds>(ends.previous.time_since_epoch());
  switch_number_ = static_cast<std::uint32_t>(std::max<std::int64_t>(0, previous.count()));
  ticks_per_unit_ = epoch_us(ends.current);
  ticks_per_us_ = epoch_us(ends.next);
}

void Quota::share_calendar(const Quota& other) noexcept {
  if (!is_by_calendar() || !other.is_by_calendar()) return;
  first_day_ = other.first_day_;
  set_window_ends(other.window_ends());
}

}  // namespace weir
