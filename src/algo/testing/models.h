// The five algorithms again, slow and obvious, to check the real ones.
//
// Each model keeps spent units in the plainest form: units by window, a time for every unit, a
// level of tokens. It answers whether a cost is admitted, and whether the key is fresh. All else
// that a decision says can be found by asking.
//
// A model shares only Quota with its algorithm.
//
// Thread rule: one thread. Tested by ../small_worlds_test.cc.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::algo::testing {

// The common part of the models of the three windowed algorithms: units by window, and which window
// is the current one.
class WindowedModel {
 public:
  // `span`: how many windows count, the current one included. A window may be cut into `parts`.
  WindowedModel(const Quota& quota, int span, int parts = 1)
      : limit_(quota.limit()),
        width_us_((quota.window().count() + parts - 1) / parts),
        parts_(parts),
        span_(span) {}

 protected:
  std::int64_t window_of(std::int64_t now_us) const { return now_us / width_us_; }
  std::int64_t units_in(std::int64_t window) const;
  bool holds_units() const;
  bool is_mistaken(std::int64_t now_us) const { return current_ > window_of(now_us) + parts_; }
  void shift_to(std::int64_t window);
  // Makes `window` the current one, and forgets what does not count any more.
  void move_on_to(std::int64_t window);
  void spend_in_current(std::int64_t units) { units_[current_] += units; }
  // Returns whether there were units to give back.
  bool give_back(std::int64_t units, std::int64_t window);

  std::int64_t limit_;
  std::int64_t width_us_;
  int parts_;
  int span_;
  std::int64_t current_ = 0;
  std::map<std::int64_t, std::int64_t> units_;  // by window
};

class FixedWindowModel : private WindowedModel {
 public:
  explicit FixedWindowModel(const Quota& quota) : WindowedModel(quota, 1) {}

  std::int64_t limit(std::int64_t) const { return limit_; }
  bool admits(std::int64_t cost, std::int64_t now_us) const;
  bool is_fresh(std::int64_t now_us) const;
  bool is_mistaken(std::int64_t now_us) const;
  void apply(std::int64_t cost, std::int64_t now_us);

 private:
  FixedWindowModel at(std::int64_t now_us) const;
};

// A window that is never over counts all of five quarters of a window.
class SlidingWindowModel : private WindowedModel {
 public:
  explicit SlidingWindowModel(const Quota& quota)
      : WindowedModel(quota, quota.is_never_over() ? 5 : 2, quota.is_never_over() ? 4 : 1) {}

  std::int64_t limit(std::int64_t) const { return limit_; }
  bool admits(std::int64_t cost, std::int64_t now_us) const;
  bool is_fresh(std::int64_t now_us) const;
  bool is_mistaken(std::int64_t now_us) const;
  void apply(std::int64_t cost, std::int64_t now_us);

 private:
  SlidingWindowModel at(std::int64_t now_us) const;
};

// The tokens in a bucket at the last stored time, as an exact fraction.
class TokenBucketModel {
 public:
  explicit TokenBucketModel(const Quota& quota);

  std::int64_t limit(std::int64_t) const { return capacity_; }
  bool admits(std::int64_t cost, std::int64_t now_us) const;
  bool is_fresh(std::int64_t now_us) const { return tokens_at(now_us) >= full(); }
  bool is_mistaken(std::int64_t now_us) const;
  void apply(std::int64_t cost, std::int64_t now_us);

 private:
  // All numbers are times window_us: a token is window_us, a microsecond refills limit.
  Int128 full() const { return Int128{capacity_} * window_us_; }
  Int128 tokens_uncorrected(std::int64_t now_us) const;
  Int128 tokens_at(std::int64_t now_us) const;

  std::int64_t capacity_;
  std::int64_t limit_;
  std::int64_t window_us_;
  Int128 tokens_;
  std::int64_t last_us_ = 0;
};

// Keeps a time for every unit.
class SlidingLogModel {
 public:
  explicit SlidingLogModel(const Quota& quota)
      : limit_(quota.limit()), window_us_(quota.window().count()) {}

  std::int64_t limit(std::int64_t) const { return limit_; }
  bool admits(std::int64_t cost, std::int64_t now_us) const {
    return count_at(now_us) + cost <= limit_;
  }
  bool is_fresh(std::int64_t now_us) const { return count_at(now_us) == 0; }
  bool is_mistaken(std::int64_t now_us) const;
  void apply(std::int64_t cost, std::int64_t now_us);

 private:
  std::int64_t count_at(std::int64_t now_us) const;

  std::int64_t limit_;
  std::int64_t window_us_;
  std::vector<std::int64_t> times_us_;  // sorted
};

// Goes through every window, one after the other.
class ExponentialBackoffModel : private WindowedModel {
 public:
  explicit ExponentialBackoffModel(const Quota& quota) : WindowedModel(quota, 1) {}

  std::int64_t limit(std::int64_t now_us) const;
  bool admits(std::int64_t cost, std::int64_t now_us) const;
  bool is_fresh(std::int64_t now_us) const;
  bool is_mistaken(std::int64_t now_us) const;
  void apply(std::int64_t cost, std::int64_t now_us);
  void apply_denial(std::int64_t now_us);
  int level(std::int64_t now_us) const { return at(now_us).level_; }

 private:
  ExponentialBackoffModel at(std::int64_t now_us) const;
  bool in_cooldown(std::int64_t now_us) const { return now_us < cooldown_until_us_; }
  bool holds_nothing() const;

  int level_ = 0;
  int row_ = 0;
  bool quiet_ = true;
  std::int64_t cooldown_until_us_ = 0;
};

}  // namespace weir::algo::testing
