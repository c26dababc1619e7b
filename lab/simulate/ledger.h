// Counts again, in the simplest way, how many units of each key were admitted, and says if they are
// too many.
//
// An admission has an interval: it was decided some time between two instants, on the clock that
// decides. So this only reports excess that is certain, whatever happened within the intervals.
// Units that a Redis confirmed and then lost are allowed on top while they would have counted.
//
// Thread rule: values. Tested by simulate_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "weir/quota.h"
#include "weir/time.h"

namespace weir::sim {

struct Admission {
  Instant from;  // decided at or after
  Instant to;    // decided at or before
  std::int64_t units = 0;
  bool is_always = false;  // counts whether or not it fits: up to what a key may owe
};

// The units that count. A charge that always counts adds at most the `room` of what a key may owe.
inline std::int64_t capped(const Admission& admission, std::int64_t room) {
  if (!admission.is_always) return admission.units;
  return std::clamp<std::int64_t>(room, 0, admission.units);
}

// Numbers fixed windows in order: a calendar's as far as the quota knows their ends.
inline std::int64_t window_number(const Quota& quota, Instant at) {
  if (!quota.is_by_calendar()) return epoch_us(at) / quota.window().count();
  const WindowEnds ends = quota.window_ends();
  return (at >= ends.previous ? 1 : 0) + (at >= ends.current ? 1 : 0) + (at >= ends.next ? 1 : 0);
}

// The units that were certainly admitted in each fixed window.
class WindowCount {
 public:
  void add(const Quota& quota, const Admission& admission) {
    const std::int64_t window = window_number(quota, admission.from);
    const bool is_in_one = window == window_number(quota, admission.to);
    if (is_in_one) {
      std::int64_t& units = count(window);
      units += capped(admission, quota.debt_max() - units);
    } else if (admission.units < 0) {  // given back in either window
      count(window) += admission.units;
      count(window + 1) += admission.units;
    }
  }
  std::int64_t admitted(const Quota& quota, Instant at) const {
    const std::int64_t window = window_number(quota, at);
    const Count& found = counts_[static_cast<std::size_t>(window) % counts_.size()];
    return found.window == window ? found.units : 0;
  }

 private:
  struct Count {
    std::int64_t window = -1;
    std::int64_t units = 0;
  };
  std::int64_t& count(std::int64_t window) {
    Count& found = counts_[static_cast<std::size_t>(window) % counts_.size()];
    if (found.window != window) found = {.window = window};
    return found.units;
  }
  std::array<Count, 4> counts_{};
};

// The units that were certainly admitted within one window's length up to now.
class SpanSum {
 public:
  void add(const Quota& quota, const Admission& admission) {
    newest_ = std::max(newest_, admission.to);
    forget_old(quota);  // old units make room for what a key may owe
    Admission counted = admission;
    counted.units = capped(admission, quota.debt_max() - sum_);
    sum_ += counted.units;
    auto at = admissions_.end();
    while (at != admissions_.begin() && std::prev(at)->from > admission.from) --at;
    admissions_.insert(at, counted);
    forget_old(quota);
  }
  std::int64_t admitted() const { return sum_; }

 private:
  void forget_old(const Quota& quota) {
    while (!admissions_.empty() && admissions_.front().from <= newest_ - quota.window()) {
      sum_ -= admissions_.front().units;
      admissions_.pop_front();
    }
  }

  std::deque<Admission> admissions_;
  std::int64_t sum_ = 0;
  Instant newest_{};
};

// A bucket's level. Each admission fills it as late as it may have been, and it drains meanwhile.
// An interval leaves open how much drains within it. `slack`: units above the burst that are
// allowed.
class BucketLevel {
 public:
  explicit BucketLevel(double slack = 0) : slack_(slack), allowed_(slack) {}

  void add(const Quota& quota, const Admission& admission) {
    drain(quota, admission.to);
    // A charge fills it to what a key may owe, a part of a unit included.
    const double room = std::max(0.0, static_cast<double>(quota.debt_max()) - level_);
    auto units = static_cast<double>(admission.units);
    if (admission.is_always) units = std::min(units, room);
    // A refund fills no bucket above its capacity; but what comes before it is unknown.
    const bool is_settled = admission.from > refunded_until_;
    if (is_settled) level_ = std::max(level_, lowest_);
    if (units < 0) {
      if (is_settled) lowest_ = std::min(level_, 0.0);
      refunded_until_ = std::max(refunded_until_, admission.to);
    }
    level_ += units;
    const auto open = static_cast<double>((admission.to - admission.from).count());
    slack_ = std::max(slack_, allowed_ + per_us(quota) * open);
  }
  // Whether the level is above the burst.
  bool is_over(const Quota& quota) const {
    return level_ > static_cast<double>(quota.capacity()) + slack_ + kRounding;
  }
  double level() const { return level_; }
  // Removes units, as if they had not been admitted, from the level at that time.
  void forgive(const Quota& quota, std::int64_t units, Instant now) {
    drain(quota, now);
    level_ -= static_cast<double>(units);
    lowest_ -= static_cast<double>(units);
  }

 private:
  static constexpr double kRounding = 1e-6;  // of sums of doubles

  static double per_us(const Quota& quota) {
    return static_cast<double>(quota.limit()) / static_cast<double>(quota.window().count());
  }
  void drain(const Quota& quota, Instant now) {
    if (now <= at_) return;
    const double drained = per_us(quota) * static_cast<double>((now - at_).count());
    level_ = at_ == Instant{} ? 0 : level_ > 0 ? std::max(0.0, level_ - drained) : level_;
    at_ = now;
  }

  double level_ = 0;
  double slack_;
  double allowed_;
  double lowest_ = std::numeric_limits<double>::lowest();  // before the last refunds; 0 at most
  Instant refunded_until_{};
  Instant at_{};
};

// Lost units, and until when they would have counted.
class Forgiven {
 public:
  void add(std::int64_t units, Instant until) {
    if (units > 0) lost_.push_back({.units = units, .until = until});
  }
  std::int64_t at(Instant now) {
    std::erase_if(lost_, [&](const Lost& lost) { return lost.until < now; });
    std::int64_t units = 0;
    for (const Lost& lost : lost_) units += lost.units;
    return units;
  }

 private:
  struct Lost {
    std::int64_t units;
    Instant until;
  };
  std::vector<Lost> lost_;
};

}  // namespace weir::sim
