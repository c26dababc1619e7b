// AnyKey: one key's state under any algorithm, so that a test can state a property for all
// algorithms.
//
// Every decision checks what callers of algo rely on: an unchanged state is reported as unchanged,
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

  // Decides, and stores the new state.
  Decision decide(const Quota& quota, std::int64_t cost, Instant now);

  // Charges though it may not fit, and stores the new state.
  Decision charge(const Quota& quota, std::int64_t cost, Instant now);

  // Answers as decide() would, and stores nothing.
  Decision look(const Quota& quota, std::int64_t cost, Instant now) const;

  // Takes back a charge as if it had never been: gives back as of the same `now`. For a sliding
  // log, which recorded it at recorded_us(), calls undo().
  void undo(const Quota& quota, std::int64_t units, Instant now, std::int64_t recorded_us);
  // When the newest charge was recorded; only sliding logs know it.
  std::int64_t recorded_us() const;

  // For exponential_backoff only, or where that is active.
  Decision record_denial(const Quota& quota, Instant now);

  // Whether the last decision changed the state. Unknown for a sliding log.
  bool has_changed() const { return has_changed_; }

  Instant expiry(const Quota& quota) const;

  // The algorithm's own state, for tests of one algorithm.
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
