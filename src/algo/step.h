// Step: what one request does to one key.
//
// Every algorithm is a pure function (quota, state, cost, now) -> Step: no clock, no allocation, no
// memory but its arguments. So a test, a compare-exchange loop and the replay of an incident get
// the same answer. Rules of all algorithms:
//
//   cost > 0   asks to spend. A denial spends nothing.
//   cost == 0  looks: denied only if the key could not even spend 0, because its limit
//              was lowered below what it has spent, or because it is in cooldown.
//   cost < 0   gives back what was spent as of `now`; always allowed. It never gives
//              back more than was spent, and where it is in doubt it gives back nothing.
//   cost > capacity   is Verdict::kNever and leaves no trace.
//
// A default-constructed state is a key that was never seen.
//
// charge() counts a cost > 0 whether or not it fits. It adds the cost to the units that the key
// holds, u, but not beyond Quota::debt_max(). Its decision is that of a look right after it, or a
// denial if not one unit of it could be added. For other costs, and limit 0, it is decide().
//
// Clocks may step back. A state up to one window ahead of `now` is believed: threads read their
// clocks a moment apart. A mistaken clock wrote a state further ahead. Such a state is moved to
// `now` with all units, so the mistake neither frees the key nor blocks it for more than two
// windows. Spending and denials store that move; looking and giving back do not.
//
// REQUIRES, for every decide(): |cost| <= kCostMax; `now` is from 1970 to the year 100,000.

#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir::algo {

template <typename State>
struct Step {
  State state;
  Decision decision;
  bool changed;  // false: `state` is the one that came in and need not be stored
};

// How many of `cost` units can be added to a key that holds `held`.
// REQUIRES: cost, held >= 0
inline std::int64_t units_to_charge(const Quota& quota, std::int64_t cost,
                                    std::int64_t held) noexcept {
  return std::min(cost, std::max<std::int64_t>(0, quota.debt_max() - held));
}

inline bool is_charge(const Quota& quota, std::int64_t cost) noexcept {
  return cost > 0 && quota.limit() > 0;
}

// The step of a charge that turned `before` into `after`.
template <typename State>
Step<State> after_charge(const Quota& quota, const State& before, const State& after,
                         Instant now) noexcept {
  const Step<State> look = decide(quota, after, 0, now);
  return {after, look.decision, !(after == before)};
}

// The step of a charge of which no unit can be added: a denial.
template <typename State>
Step<State> charge_nothing(const Quota& quota, const State& state, Instant now) noexcept {
  const Step<State> denied = decide(quota, state, 1, now);
  return {denied.state, decide(quota, denied.state, 0, now).decision, denied.changed};
}

// A state of counters. roll() makes it one of `now`; then held() is how many units count, and
// newest() is the counter of what is spent from now on.
template <typename State>
concept Counters = requires(State state) {
  { state.newest() } -> std::same_as<std::int64_t&>;
};

// Charges though it may not fit: see above.
template <Counters State>
Step<State> charge(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  State charged = roll(quota, state, now);
  const std::int64_t units = units_to_charge(quota, cost, held(quota, charged, now));
  if (units == 0) return charge_nothing(quota, state, now);
  charged.newest() += units;
  return after_charge(quota, state, charged, now);
}

}  // namespace weir::algo
