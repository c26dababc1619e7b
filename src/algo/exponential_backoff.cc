#include "algo/exponential_backoff.h"

#include <algorithm>

#include "algo/epoch_window.h"
#include "algo/penalty.h"

namespace weir::algo {

std::int64_t halved_limit(const Quota& quota, int level) noexcept {
  return quota.limit() == 0 ? 0 : std::max<std::int64_t>(1, quota.limit() >> level);
}

namespace {

using State = ExponentialBackoffState;

bool in_cooldown(const State& state, Instant now) noexcept {
  return state.cooldown_until_us > epoch_us(now);
}

// Later windows than `state`'s begin at start_us; the ones between were quiet.
State enter_window(const State& state, std::int64_t window_us, std::int64_t start_us) noexcept {
  State entered = state;
  entered.start_us = start_us;
  entered.count = 0;
  pass_windows(entered, (start_us - state.start_us) / window_us);
  return entered;
}

// Windows, from the one counted in, until only a cooldown may be left of the state.
int windows_until_fresh(const State& state) noexcept {
  return std::max(windows_of_penalty(state), state.count > 0 ? 1 : 0);
}

// The state as of `now`: what it holds, in the window that counts now.
State roll(const Quota& quota, const State& state, Instant now) noexcept {
  const std::int64_t window_us = quota.window().count();
  State rolled = state;
  switch (window_age(state.start_us, window_us, epoch_us(now))) {
    case WindowAge::kCurrent: break;
    case WindowAge::kPrevious:
    case WindowAge::kOld:
      rolled = enter_window(state, window_us, window_start(window_us, epoch_us(now)));
      break;
    case WindowAge::kAhead:
      if (windows_until_fresh(state) > 0) break;
      [[fallthrough]];
    case WindowAge::kFuture: rolled.start_us = window_start(window_us, epoch_us(now)); break;
  }
  rolled.cooldown_until_us = std::min(rolled.cooldown_until_us, epoch_us(now + kCooldown));
  return rolled;
}

// Whether rolling corrected what a mistaken clock wrote, which is worth storing.
bool was_moved(const State& state, const State& rolled) noexcept {
  return rolled.start_us < state.start_us || rolled.cooldown_until_us < state.cooldown_until_us;
}

bool fits(const Quota& quota, const State& rolled, std::int64_t cost, Instant now) noexcept {
  return !in_cooldown(rolled, now) && rolled.count + cost <= halved_limit(quota, rolled.level);
}

// When `cost` would be admitted if nothing else came: the cooldown's end, or one of the
// next windows, each of which is a level lower than the one before. At level 0 anything
// up to the limit fits, so few windows need to be tried.
// REQUIRES: cost <= limit, state is rolled to `now`
Instant admitted_at(const Quota& quota, const State& state, std::int64_t cost,
                    Instant now) noexcept {
  Instant at = std::max(now, instant_from_epoch_us(state.cooldown_until_us));
  for (int windows = 0; windows < kBackoffLevelMax + 2; ++windows) {
    const State then = roll(quota, state, at);
    if (fits(quota, then, cost, at)) break;
    at = instant_from_epoch_us(then.start_us) + quota.window();
  }
  return at;
}

Decision describe(const Quota& quota, const State& state, Verdict verdict, Instant now) noexcept {
  const std::int64_t limit = halved_limit(quota, state.level);
  Decision decision;
  decision.verdict = verdict;
  decision.backoff_level = state.level;
  decision.limit = limit;
  if (!in_cooldown(state, now)) {
    decision.remaining = std::max<std::int64_t>(0, limit - state.count);
  }
  decision.reset_after = std::max(Duration{0}, expiry(quota, state) - now);
  return decision;
}

Decision describe_denial(const Quota& quota, const State& state, std::int64_t cost,
                         Instant now) noexcept {
  Decision decision = describe(quota, state, Verdict::kDenied, now);
  decision.retry_after = std::max<Duration>(std::chrono::seconds(1 << state.level),
                                            admitted_at(quota, state, cost, now) - now);
  return decision;
}

// Denies `cost` and remembers it, unless a cooldown is on.
Step<State> deny(const Quota& quota, const State& state, const State& rolled, std::int64_t cost,
                 Instant now) noexcept {
  if (!in_cooldown(rolled, now)) {
    State denied = rolled;
    count_denial(denied, epoch_us(now + kCooldown));
    return {denied, describe_denial(quota, denied, cost, now), true};
  }
  const bool moved = was_moved(state, rolled);
  return {moved ? rolled : state, describe_denial(quota, rolled, cost, now), moved};
}

Step<State> give_back(const Quota& quota, const State& state, std::int64_t units,
                      Instant now) noexcept {
  State rolled = roll(quota, state, now);
  const bool in_its_window = rolled.start_us == state.start_us && epoch_us(now) >= state.start_us;
  const std::int64_t returned = in_its_window ? std::min(units, rolled.count) : 0;
  rolled.count -= returned;
  const Decision decision = describe(quota, rolled, Verdict::kAllowed, now);
  return {returned > 0 ? rolled : state, decision, returned > 0};
}

}  // namespace

Step<State> decide(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  if (cost < 0) return give_back(quota, state, -cost, now);

  State rolled = roll(quota, state, now);
  if (cost > quota.limit()) {
    return {state, describe(quota, rolled, Verdict::kNever, now), false};
  }
  if (!fits(quota, rolled, cost, now)) {
    if (cost == 0) return {state, describe_denial(quota, rolled, cost, now), false};
    return deny(quota, state, rolled, cost, now);
  }
  if (cost == 0) return {state, describe(quota, rolled, Verdict::kAllowed, now), false};
  rolled.count += cost;
  rolled.deny_run = 0;
  return {rolled, describe(quota, rolled, Verdict::kAllowed, now), true};
}

Step<State> charge(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  State charged = roll(quota, state, now);
  const bool fit = fits(quota, charged, cost, now);
  charged.count += units_to_charge(quota, cost, charged.count);
  if (fit) {
    charged.deny_run = 0;
  } else if (!in_cooldown(charged, now)) {
    count_denial(charged, epoch_us(now + kCooldown));
  }
  return after_charge(quota, state, charged, now);
}

Step<State> record_denial(const Quota& quota, const State& state, Instant now) noexcept {
  const State rolled = roll(quota, state, now);
  if (quota.limit() == 0) {
    return {state, describe(quota, rolled, Verdict::kNever, now), false};
  }
  return deny(quota, state, rolled, 1, now);
}

Instant expiry(const Quota& quota, const State& state) noexcept {
  const Instant cooldown_end = instant_from_epoch_us(state.cooldown_until_us);
  const int windows = windows_until_fresh(state);
  if (windows == 0) return cooldown_end;
  return std::max(instant_from_epoch_us(state.start_us) + windows * quota.window(), cooldown_end);
}

}  // namespace weir::algo
