// AnyKey: one key's state under any algorithm, so that a test says once what must hold
// for all of them.
//
// Every decision checks what callers of algo rely on. An unchanged state is reported as unchanged,
// a decision's numbers are within their ranges, and expiry() and reset_after agree.
//
// Thread rule: one thread. Tested by decision_table_test.cc, which uses it.

#pragma once

#include <cstdint>
#include <variant>

#include "algo/adaptive.h"
#include "algo/calendar_window.h"
#include "algo/exponential_backoff.h"
#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/strict_window.h"
#include "algo/testing/vector_log.h"
#include "algo/token_bucket.h"
#include "weir/decision.h"
#include "weir/quota.h"

namespace weir::algo::testing {

class AnyKey {
 public:
  explicit AnyKey(Algorithm algorithm);

  // Decides, and stores what is to be stored.
  Decision decide(const Quota& quota, std::int64_t cost, Instant now);

  // Counts whatever the limit says, and stores that.
  Decision charge(const Quota& quota, std::int64_t cost, Instant now);

  // What decide() would answer, storing nothing.
  Decision look(const Quota& quota, std::int64_t cost, Instant now) const;

  // Takes back a charge as if it had not been: give back as of the same `now`, or for a
  // sliding log, which had recorded it at recorded_us(), undo().
  void undo(const Quota& quota, std::int64_t units, Instant now, std::int64_t recorded_us);
  // When the newest charge was recorded; only a sliding log knows.
  std::int64_t recorded_us() const;

  // exponential_backoff only, or where it is active.
  Decision record_denial(const Quota& quota, Instant now);

  // Whether the last decision was to be stored. Of a sliding log nobody knows.
  bool has_changed() const { return has_changed_; }

  Instant expiry(const Quota& quota) const;

  // The algorithm's own state, for tests of one of them.
  template <typename State>
  State& state() {
    return std::get<State>(state_);
  }

  friend bool operator==(const AnyKey& one, const AnyKey& other) {
    return one.state_ == other.state_;
  }

 private:
  template <typename State>
  Decision keep(const Quota& quota, State& state, const Step<State>& step, Instant now);

  std::variant<FixedWindowState, SlidingWindowState, TokenBucketState, ExponentialBackoffState,
               AdaptiveState, StrictWindowState, CalendarWindowState, VectorLog>
      state_;
  bool has_changed_ = false;
};

}  // namespace weir::algo::testing
