// Penalty: what exponential backoff remembers of a key's denials (exponential_backoff.h): the row,
// the level, whether the window had a denial, the cooldown's end. Also decides, for all counts.
//
// Thread rule: pure functions. Tested by testdata/*.txt of the algorithms that have one.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/exponential_backoff.h"
#include "algo/step.h"

namespace weir::algo {

// `windows` windows have finished since. All but the first were quiet.
template <typename State>
void pass_windows(State& state, std::int64_t windows) noexcept {
  const std::int64_t quiet = windows - (state.denied_in_window ? 1 : 0);
  if (quiet > 0) state.deny_run = 0;
  state.level = static_cast<std::uint8_t>(std::max<std::int64_t>(0, state.level - quiet));
  state.denied_in_window = false;
}

// Adds a denial to the row, outside of a cooldown. If one starts, it ends at cooldown_end_us.
template <typename State>
void count_denial(State& state, std::int64_t cooldown_end_us) noexcept {
  state.denied_in_window = true;
  if (++state.deny_run < kDenialsPerLevel) return;
  state.deny_run = 0;
  state.level = static_cast<std::uint8_t>(std::min(kBackoffLevelMax, state.level + 1));
  if (state.level == kBackoffLevelMax) state.cooldown_until_us = cooldown_end_us;
}

// How many windows, the counted one included, until row and level are 0.
template <typename State>
int windows_of_penalty(const State& state) noexcept {
  // Quiet windows that must pass: one for each level, and at least one for the row.
  const int quiet = std::max<int>(state.level, state.deny_run > 0 ? 1 : 0);
  return quiet + (quiet > 0 && state.denied_in_window ? 1 : 0);
}

// ---- decisions ----
//
// `Counts` says what a State counts, with functions of the state rolled to `now`:
//
//   State roll(quota, state, now)              what it holds, in the windows that count now
//   bool in_cooldown(rolled, now)
//   int64 cooldown_end_us(rolled, now)         of one that begins now
//   bool was_moved(state, rolled)              rolling corrected what a mistaken clock wrote,
//                                              which is worth storing
//   int64 held(quota, rolled, now)             units
//   void spend(rolled, cost)
//   Instant admitted_at(quota, rolled, cost, now)   if nothing else came. REQUIRES: cost <= limit
//   Step give_back(quota, state, units, now)

template <typename Counts, typename State>
std::int64_t remaining(const Quota& quota, const State& rolled, Instant now) noexcept {
  if (Counts::in_cooldown(rolled, now)) return 0;
  return std::max<std::int64_t>(
      0, halved_limit(quota, rolled.level) - Counts::held(quota, rolled, now));
}

template <typename Counts, typename State>
bool fits(const Quota& quota, const State& rolled, std::int64_t cost, Instant now) noexcept {
  return !Counts::in_cooldown(rolled, now) &&
         Counts::held(quota, rolled, now) + cost <= halved_limit(quota, rolled.level);
}

template <typename Counts, typename State>
Decision describe(const Quota& quota, const State& rolled, Verdict verdict, Instant now) noexcept {
  Decision decision;
  decision.verdict = verdict;
  decision.backoff_level = rolled.level;
  decision.limit = halved_limit(quota, rolled.level);
  decision.remaining = remaining<Counts>(quota, rolled, now);
  decision.reset_after = std::max(Duration{0}, expiry(quota, rolled) - now);
  if (decision.remaining < quota.limit()) {
    decision.more_after = Counts::admitted_at(quota, rolled, decision.remaining + 1, now) - now;
  }
  return decision;
}

template <typename Counts, typename State>
Decision describe_denial(const Quota& quota, const State& rolled, std::int64_t cost,
                         Instant now) noexcept {
  Decision decision = describe<Counts>(quota, rolled, Verdict::kDenied, now);
  decision.retry_after = std::max<Duration>(std::chrono::seconds(1 << rolled.level),
                                            Counts::admitted_at(quota, rolled, cost, now) - now);
  return decision;
}

// Denies `cost` and remembers it, unless a cooldown is on.
template <typename Counts, typename State>
Step<State> deny(const Quota& quota, const State& state, const State& rolled, std::int64_t cost,
                 Instant now) noexcept {
  if (!Counts::in_cooldown(rolled, now)) {
    State denied = rolled;
    count_denial(denied, Counts::cooldown_end_us(rolled, now));
    return {denied, describe_denial<Counts>(quota, denied, cost, now), true};
  }
  const bool moved = Counts::was_moved(state, rolled);
  return {moved ? rolled : state, describe_denial<Counts>(quota, rolled, cost, now), moved};
}

template <typename Counts, typename State>
Step<State> decide_backoff(const Quota& quota, const State& state, std::int64_t cost,
                           Instant now) noexcept {
  if (cost < 0) return Counts::give_back(quota, state, -cost, now);

  State rolled = Counts::roll(quota, state, now);
  if (cost > quota.limit()) {
    return {state, describe<Counts>(quota, rolled, Verdict::kNever, now), false};
  }
  if (!fits<Counts>(quota, rolled, cost, now)) {
    if (cost == 0) return {state, describe_denial<Counts>(quota, rolled, cost, now), false};
    return deny<Counts>(quota, state, rolled, cost, now);
  }
  if (cost == 0) return {state, describe<Counts>(quota, rolled, Verdict::kAllowed, now), false};
  Counts::spend(rolled, cost);
  rolled.deny_run = 0;
  return {rolled, describe<Counts>(quota, rolled, Verdict::kAllowed, now), true};
}

// The state after `cost` was counted, whether or not it fits.
template <typename Counts, typename State>
State charged(const Quota& quota, const State& state, std::int64_t cost, Instant now) noexcept {
  State rolled = Counts::roll(quota, state, now);
  const bool fit = fits<Counts>(quota, rolled, cost, now);
  Counts::spend(rolled, units_to_charge(quota, cost, Counts::held(quota, rolled, now)));
  if (fit) {
    rolled.deny_run = 0;
  } else if (!Counts::in_cooldown(rolled, now)) {
    count_denial(rolled, Counts::cooldown_end_us(rolled, now));
  }
  return rolled;
}

// Counts a denial with another cause, as a denial of one unit.
template <typename Counts, typename State>
Step<State> deny_unit(const Quota& quota, const State& state, Instant now) noexcept {
  const State rolled = Counts::roll(quota, state, now);
  if (quota.limit() == 0) {
    return {state, describe<Counts>(quota, rolled, Verdict::kNever, now), false};
  }
  return deny<Counts>(quota, state, rolled, 1, now);
}

}  // namespace weir::algo
