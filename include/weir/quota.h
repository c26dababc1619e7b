// Quota: `limit` units per `window`, the `burst`, and the algorithm that reads them.
//
// An operator writes a QuotaSpec; a Quota is a checked QuotaSpec. Quota::make is the only way to
// get a Quota, so a function that takes a Quota does not validate it again.
//
//   algorithm            admits                                    state a key
//   fixed_window         limit in each window since the epoch      a count
//   sliding_log          limit in any window, exactly              the times spent
//   sliding_window       limit by two counters, the previous       two counts
//                        window weighted by how much of it still overlaps
//   kStrictWindow        limit in any window, less by counts       five counts
//                        of a quarter of it each (bound: never_over)
//   kCalendarWindow      fixed_window whose windows are days,      a count
//                        weeks, months or years of a calendar (src/algo/calendar_window.h)
//   token_bucket         burst at once, refilled at limit/window   one instant
//   exponential_backoff  fixed_window whose limit halves as a      count and level
//                        key keeps hammering (src/algo/exponential_backoff.h)
//   adaptive             as the one that is active now: sliding_window, token_bucket or
//                        exponential_backoff. A key has one name and one state through
//                        every switch (src/algo/adaptive.h).
//
// Thread rule: immutable values. Cost of make: a gcd (tens of ns) for token_bucket and
// adaptive, otherwise comparisons. Tested by src/algo/quota_test.cc.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/result.h"
#include "weir/time.h"

namespace weir {

enum class Algorithm : std::uint8_t {
  kFixedWindow,
  kSlidingLog,
  kSlidingWindow,
  kTokenBucket,
  kExponentialBackoff,
  kAdaptive,
  // A sliding_window that never admits too much (src/algo/strict_window.h). No name of its own.
  kStrictWindow,
  // A fixed_window by the calendar (src/algo/calendar_window.h). No name of its own.
  kCalendarWindow,
};
// The algorithms that have a name of their own.
inline constexpr int kAlgorithmCount = 6;
// The algorithms that can decide: the first ones. `adaptive` always uses one of these.
inline constexpr int kDecidingAlgorithmCount = 5;

// Which algorithm decides for adaptive quotas, and the number of the switch that chose it.
struct ActiveAlgorithm {
  Algorithm algorithm = Algorithm::kSlidingWindow;  // or kTokenBucket, kExponentialBackoff
  std::uint32_t number = 0;                         // 0: nothing has switched yet

  friend constexpr bool operator==(const ActiveAlgorithm&, const ActiveAlgorithm&) = default;
};

constexpr bool can_be_active(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::kSlidingWindow || algorithm == Algorithm::kTokenBucket ||
         algorithm == Algorithm::kExponentialBackoff;
}

// The names in configuration, HTTP and metrics, in the order of Algorithm.
inline constexpr std::array<std::string_view, kAlgorithmCount> kAlgorithmNames = {
    "fixed_window", "sliding_log",         "sliding_window",
    "token_bucket", "exponential_backoff", "adaptive"};
std::string_view algorithm_name(Algorithm algorithm) noexcept;
std::optional<Algorithm> algorithm_from_name(std::string_view name) noexcept;

// Bounds of what can be enforced. 10^12 keeps every product of the arithmetic
// within 128 bits, and most of them within 64.
inline constexpr std::int64_t kLimitMax = 1'000'000'000'000;
inline constexpr std::int64_t kCostMax = kLimitMax;
inline constexpr Duration kWindowMin = std::chrono::milliseconds(1);
inline constexpr Duration kWindowMax = std::chrono::hours(24 * 366);
// The longest a token bucket may take to fill, burst * window / limit.
inline constexpr Duration kFillTimeMax = 4 * kWindowMax;

// The windows of a calendar, and how long each lasts at most while no clocks change. A quota keeps
// this length to name its kind of window. It does not say when the window ends.
enum class CalendarUnit : std::uint8_t { kDay, kWeek, kMonth, kYear };
inline constexpr std::array<std::string_view, 4> kCalendarUnitNames = {"day", "week", "month",
                                                                       "year"};
inline constexpr std::array<Duration, 4> kCalendarUnitLengths = {
    std::chrono::hours(24), std::chrono::hours(24 * 7), std::chrono::hours(24 * 31), kWindowMax};

// When the previous window, the current one and the next one end. A machine with another clock may
// be in any of the three.
struct WindowEnds {
  Instant previous;
  Instant current;
  Instant next;

  friend constexpr bool operator==(const WindowEnds&, const WindowEnds&) = default;
};

struct QuotaSpec {
  Algorithm algorithm = Algorithm::kSlidingWindow;
  std::int64_t limit = 0;  // units per window; 0 denies everything
  Duration window{0};
  // token_bucket: the most that can be spent at once; 0 means `limit`.
  // REQUIRED to be 0 for every other algorithm.
  std::int64_t burst = 0;

  friend constexpr bool operator==(const QuotaSpec&, const QuotaSpec&) = default;
};

class Quota {
 public:
  // Denies everything: limit 0. A made quota can be assigned to it.
  Quota() = default;

  // Fails with kInvalidQuota, naming the field, unless
  //   0 <= limit <= kLimitMax, kWindowMin <= window <= kWindowMax, and for a
  //   token_bucket 0 <= burst <= kLimitMax with a fill time of at most kFillTimeMax.
  static Result<Quota> make(const QuotaSpec& spec) noexcept;

  Algorithm algorithm() const noexcept { return algorithm_; }
  std::int64_t limit() const noexcept { return limit_; }
  Duration window() const noexcept { return Duration{window_us_}; }

  // Whether no span of window() may admit more than the limit: `bound: never_over`.
  bool is_never_over() const noexcept { return algorithm_ == Algorithm::kStrictWindow; }

  bool is_by_calendar() const noexcept { return algorithm_ == Algorithm::kCalendarWindow; }
  // Whether all units come back at once, at the end of a window.
  bool is_fixed() const noexcept {
    return algorithm_ == Algorithm::kFixedWindow || is_by_calendar();
  }
  // REQUIRES, for this and all functions below about calendars: is_by_calendar()
  CalendarUnit calendar_unit() const noexcept;
  // The first day of a week, from 0 for Monday, or of a month, from 1.
  int first_day() const noexcept { return first_day_; }
  void set_first_day(int day) noexcept { first_day_ = static_cast<std::uint8_t>(day); }
  // Sets when windows end. Before the first call, each window lasts window(), counted from 1970.
  // `previous` is kept in whole seconds.
  void set_window_ends(const WindowEnds& ends) noexcept;
  WindowEnds window_ends() const noexcept {
    return {Instant(std::chrono::seconds(switch_number_)), Instant(Duration(ticks_per_unit_)),
            Instant(Duration(ticks_per_us_))};
  }
  // Copies the first day and the window ends of the other quota, if both are by a calendar.
  void share_calendar(const Quota& other) noexcept;

  // Whether another algorithm may decide later. True for adaptive quotas.
  bool switches() const noexcept { return algorithm_ == Algorithm::kAdaptive; }
  // The algorithm that decides: for an adaptive quota the last switch chose it, else it is its own.
  Algorithm active() const noexcept { return active_; }
  // The number of the last switch. By a calendar, it differs in each window.
  std::uint32_t switch_number() const noexcept { return switch_number_; }
  // For an adaptive quota, this quota after that switch; for any other, an unchanged copy.
  // REQUIRES: can_be_active(active.algorithm)
  Quota following(ActiveAlgorithm active) const noexcept {
    Quota quota = *this;
    quota.follow(active);
    return quota;
  }
  void follow(ActiveAlgorithm active) noexcept {
    if (!switches()) return;
    active_ = active.algorithm;
    switch_number_ = active.number;
  }

  // The most that can be spent at once: burst for a token bucket, else limit.
  std::int64_t capacity() const noexcept { return capacity_; }
  // The most that a key may owe after charges that count whether or not they fit.
  std::int64_t debt_max() const noexcept { return capacity_ + limit_; }

  // token_bucket and adaptive: the emission interval T = window/limit as a reduced fraction
  // of microseconds, ticks_per_unit / ticks_per_us. One tick is 1/ticks_per_us of a
  // microsecond, so a unit and a microsecond are both whole numbers of ticks and a
  // bucket never drifts. Both are 1 when limit is 0.
  std::int64_t ticks_per_unit() const noexcept { return ticks_per_unit_; }
  std::int64_t ticks_per_us() const noexcept { return ticks_per_us_; }

 private:
  Algorithm algorithm_ = Algorithm::kSlidingWindow;
  Algorithm active_ = Algorithm::kSlidingWindow;
  std::uint8_t first_day_ = 0;
  std::uint32_t switch_number_ = 0;
  std::int64_t limit_ = 0;
  std::int64_t window_us_ = 1'000;
  std::int64_t capacity_ = 0;
  std::int64_t ticks_per_unit_ = 1;  // by a calendar, the current window's end
  std::int64_t ticks_per_us_ = 1;    // by a calendar, the next window's end
};

}  // namespace weir
