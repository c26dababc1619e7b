#include "algo/testing/any_key.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "algo/sliding_log.h"

namespace weir::algo::testing {
namespace {

// Checks what every decision owes its caller, whatever the algorithm.
void check_ranges(const Quota& quota, std::int64_t cost, const Decision& decision) {
  EXPECT_LE(decision.limit, quota.capacity());
  EXPECT_GE(decision.remaining, 0);
  EXPECT_LE(decision.remaining, decision.limit);
  EXPECT_GE(decision.reset_after.count(), 0);
  EXPECT_EQ(decision.retry_after.count() > 0, decision.verdict == Verdict::kDenied);
  EXPECT_EQ(decision.verdict == Verdict::kNever, cost > quota.capacity());
}

}  // namespace

AnyKey::AnyKey(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kFixedWindow: state_ = FixedWindowState{}; break;
    case Algorithm::kSlidingWindow: state_ = SlidingWindowState{}; break;
    case Algorithm::kTokenBucket: state_ = TokenBucketState{}; break;
    case Algorithm::kExponentialBackoff: state_ = ExponentialBackoffState{}; break;
    case Algorithm::kAdaptive: state_ = AdaptiveState{}; break;
    case Algorithm::kStrictWindow: state_ = StrictWindowState{}; break;
    case Algorithm::kSlidingLog: state_ = VectorLog{}; break;
    case Algorithm::kCalendarWindow: state_ = CalendarWindowState{}; break;
  }
}

template <typename State>
Decision AnyKey::keep(const Quota& quota, State& state, const Step<State>& step, Instant now) {
  has_changed_ = step.changed;
  if (step.changed) {
    EXPECT_EQ(std::max(algo::expiry(quota, step.state), now), now + step.decision.reset_after);
  } else {
    EXPECT_EQ(step.state, state);
  }
  state = step.state;
  return step.decision;
}

Decision AnyKey::decide(const Quota& quota, std::int64_t cost, Instant now) {
  const Decision decision = std::visit(
      [&]<typename State>(State& state) {
        if constexpr (std::is_same_v<State, VectorLog>) {
          return algo::decide(quota, state, cost, now);
        } else {
          return keep(quota, state, algo::decide(quota, state, cost, now), now);
        }
      },
      state_);
  check_ranges(quota, cost, decision);
  return decision;
}

Decision AnyKey::charge(const Quota& quota, std::int64_t cost, Instant now) {
  return std::visit(
      [&]<typename State>(State& state) {
        if constexpr (std::is_same_v<State, VectorLog>) {
          return algo::charge(quota, state, cost, now);
        } else {
          return keep(quota, state, algo::charge(quota, state, cost, now), now);
        }
      },
      state_);
}

Decision AnyKey::look(const Quota& quota, std::int64_t cost, Instant now) const {
  return std::visit(
      [&]<typename State>(const State& state) {
        if constexpr (std::is_same_v<State, VectorLog>) {
          return algo::look(quota, state, cost, now);
        } else {
          return algo::decide(quota, state, cost, now).decision;
        }
      },
      state_);
}

void AnyKey::undo(const Quota& quota, std::int64_t units, Instant now, std::int64_t recorded_us) {
  if (auto* log = std::get_if<VectorLog>(&state_)) {
    algo::undo(*log, units, recorded_us);
  } else {
    decide(quota, -units, now);
  }
}

std::int64_t AnyKey::recorded_us() const {
  const auto* log = std::get_if<VectorLog>(&state_);
  return log != nullptr && log->size() > 0 ? (*log)[log->size() - 1].at_us : 0;
}

Decision AnyKey::record_denial(const Quota& quota, Instant now) {
  if (auto* const adaptive = std::get_if<AdaptiveState>(&state_)) {
    return keep(quota, *adaptive, algo::record_denial(quota, *adaptive, now), now);
  }
  auto& state = std::get<ExponentialBackoffState>(state_);
  return keep(quota, state, algo::record_denial(quota, state, now), now);
}

Instant AnyKey::expiry(const Quota& quota) const {
  return std::visit([&](const auto& state) { return algo::expiry(quota, state); }, state_);
}

}  // namespace weir::algo::testing
