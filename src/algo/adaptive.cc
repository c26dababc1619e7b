#include "algo/adaptive.h"

#include <algorithm>
#include <chrono>

#include "algo/epoch_window.h"
#include "algo/penalty.h"

namespace weir::algo {
namespace {

using State = AdaptiveState;

// ---- counts, with or without a penalty ----

int windows_of_counts(const State& state) noexcept {
  return state.current > 0 ? 2 : state.previous > 0 ? 1 : 0;
}

// How many windows, the current one included, until the state has at most a cooldown.
int windows_until_fresh(const State& state) noexcept {
  return std::max(windows_of_counts(state), windows_of_penalty(state));
}

// The latest known time: if the clock lags behind the current window, that window's start.
std::int64_t latest_us(const State& state, Instant now) noexcept {
  return std::max(epoch_us(now), state.time_us);
}

// The functions that penalty.h needs. roll() drops a cooldown that is over.
struct Counts {
  static std::int64_t cooldown_end_us(const State& rolled, Instant now) noexcept {
    const std::int64_t end_us = latest_us(rolled, now) + kCooldown.count();
    return ceil_div(end_us, kCooldownGrainUs) * kCooldownGrainUs;
  }

  static State roll(const Quota& quota, const State& state, Instant now) noexcept {
    const std::int64_t window_us = quota.window().count();
    State rolled = state;
    rolled.time_us = rolled_start(state.time_us, window_us, epoch_us(now),
                                  [&] { return windows_until_fresh(state) > 0; });
    if (rolled.time_us > state.time_us) {
      const std::int64_t finished = (rolled.time_us - state.time_us) / window_us;
      rolled.previous = finished == 1 ? state.current : 0;
      rolled.current = 0;
      pass_windows(rolled, finished);
    }
    const std::int64_t longest = cooldown_end_us(rolled, now);
    const bool is_over = rolled.cooldown_until_us <= latest_us(rolled, now);
    rolled.cooldown_until_us = is_over ? 0 : std::min(rolled.cooldown_until_us, longest);
    return rolled;
  }

  static bool was_moved(const State& state, const State& rolled) noexcept {
    const std::int64_t until_us = rolled.cooldown_until_us;
    return rolled.time_us < state.time_us || (until_us > 0 && until_us < state.cooldown_until_us);
  }

  static std::int64_t held(const Quota& quota, const State& state, Instant now) noexcept {
    return state.current + previous_weight(quota, state.counts(), now);
  }

  static bool in_cooldown(const State& rolled, Instant) noexcept {
    return rolled.cooldown_until_us > 0;
  }

  static void spend(State& rolled, std::int64_t cost) noexcept { rolled.current += cost; }

  // After the cooldown, once the previous count has faded enough for the level of its window. After
  // seven windows, level and counts are 0, and anything up to the limit fits.
  static Instant admitted_at(const Quota& quota, const State& state, std::int64_t cost,
                             Instant now) noexcept {
    constexpr int kWindows = 1 + kBackoffLevelMax + 2;
    const std::int64_t window_us = quota.window().count();
    Instant at = std::max(now, instant_from_epoch_us(state.cooldown_until_us));
    for (int windows = 0; windows < kWindows; ++windows) {
      const State then = roll(quota, state, at);
      if (fits<Counts>(quota, then, cost, at)) break;
      const std::int64_t room = halved_limit(quota, then.level) - cost - then.current;
      const std::int64_t faded_us =
          room < 0 ? window_us : faded_at_us(window_us, then.previous, room);
      at = instant_from_epoch_us(then.time_us + faded_us);
      if (faded_us < window_us) break;
    }
    return at;
  }

  static Step<State> give_back(const Quota& quota, const State& state, std::int64_t units,
                               Instant now) noexcept {
    State rolled = roll(quota, state, now);
    bool changed = false;
    if (rolled.time_us >= state.time_us) {  // else roll() moved it from the future
      const auto counts = algo::give_back(quota, rolled.counts(), units, now);
      rolled.previous = counts.state.previous;
      rolled.current = counts.state.current;
      changed = counts.changed;
    }
    const Decision decision = describe<Counts>(quota, rolled, Verdict::kAllowed, now);
    return {changed ? rolled : state, decision, changed};
  }
};

// ---- from one kind to the other ----

// Two counts that hold u units at `at`. The current one has at least `current`; the fading one has
// as much of the rest as it can.
// REQUIRES: 0 <= current <= u
State counts_of(const Quota& quota, std::int64_t u, std::int64_t current, Instant at) noexcept {
  const std::int64_t window_us = quota.window().count();
  const std::int64_t start_us = window_start(window_us, epoch_us(at));
  const std::int64_t left_us = start_us + window_us - epoch_us(at);
  const Int128 spread = Int128{u - current} * window_us / left_us;
  SlidingWindowState counts{.start_us = start_us};
  counts.previous = static_cast<std::int64_t>(std::min<Int128>(quota.limit(), spread));
  counts.current = u - mul_div_ceil(counts.previous, left_us, window_us);
  return State::of(counts);
}

State counts_of_bucket(const Quota& quota, const TokenBucketState& bucket, Instant now) noexcept {
  if (quota.limit() == 0) return {};  // a unit has no T
  const Int128 full = Int128{quota.capacity()} * quota.ticks_per_unit();
  const Int128 over = full + quota.ticks_per_unit();
  Int128 debt = debt_ticks(quota, bucket, now);
  Instant at = now;
  if (is_beyond_belief(quota, debt)) {
    debt = full;
  } else if (debt > over) {
    const Int128 wait = ceil_div<Int128>(debt - over, quota.ticks_per_us());
    at += Duration{static_cast<std::int64_t>(wait)};
    debt = over;
  }
  const Int128 units = ceil_div<Int128>(debt, quota.ticks_per_unit());
  return counts_of(quota, static_cast<std::int64_t>(units), 0, at);
}

// REQUIRES: state is rolled to `now`
std::int64_t not_left(const Quota& quota, const State& state, Instant now) noexcept {
  return std::max(Counts::held(quota, state, now),
                  quota.limit() - remaining<Counts>(quota, state, now));
}

State bucket_of_counts(const Quota& quota, const State& counts, Instant now) noexcept {
  const std::int64_t u = not_left(quota, Counts::roll(quota, counts, now), now);
  const Int128 units = std::min(Int128{u}, 2 * Int128{quota.limit()});
  return State::of(settle(quota, units * quota.ticks_per_unit(), Verdict::kAllowed, now).state);
}

State without_penalty(const Quota& quota, const State& counts, Instant now) noexcept {
  const State rolled = Counts::roll(quota, counts, now);
  const std::int64_t u = not_left(quota, rolled, now);
  if (u == Counts::held(quota, rolled, now)) return State::of(rolled.counts());
  return counts_of(quota, u, rolled.current, instant_from_epoch_us(latest_us(rolled, now)));
}

State charged_as_active(const Quota& quota, const State& begun, std::int64_t cost,
                        Instant now) noexcept {
  switch (quota.active()) {
    case Algorithm::kTokenBucket: return State::of(charge(quota, begun.bucket(), cost, now).state);
    case Algorithm::kExponentialBackoff: return charged<Counts>(quota, begun, cost, now);
    default: return State::of(charge(quota, begun.counts(), cost, now).state);
  }
}

Step<State> decide_as_active(const Quota& quota, const State& state, std::int64_t cost,
                             Instant now) noexcept {
  switch (quota.active()) {
    case Algorithm::kTokenBucket: return as_adaptive(decide(quota, state.bucket(), cost, now));
    case Algorithm::kExponentialBackoff: return decide_backoff<Counts>(quota, state, cost, now);
    default: return as_adaptive(decide(quota, state.counts(), cost, now));
  }
}

}  // namespace

State carried(const Quota& quota, const State& state, Instant now) noexcept {
  if (quota.active() == Algorithm::kTokenBucket) {
    return state.is_bucket() ? state : bucket_of_counts(quota, state, now);
  }
  if (state.is_bucket()) return counts_of_bucket(quota, state.bucket(), now);
  const bool keeps = quota.active() == Algorithm::kExponentialBackoff || !state.has_penalty();
  return keeps ? state : without_penalty(quota, state, now);
}

Step<State> decide_carried(const Quota& quota, const State& state, std::int64_t cost,
                           Instant now) noexcept {
  const State begun = carried(quota, state, now);
  Step<State> step = decide_as_active(quota, begun, cost, now);
  if (step.changed) return step;
  const bool is_denial = cost > 0 && step.decision.verdict == Verdict::kDenied;
  step.changed = is_denial && begun != state;
  step.state = step.changed ? begun : state;
  return step;
}

Step<State> charge(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  return after_charge(quota, state, charged_as_active(quota, carried(quota, state, now), cost, now),
                      now);
}

Step<State> record_denial(const Quota& quota, const State& state, Instant now) noexcept {
  Step<State> step = deny_unit<Counts>(quota, carried(quota, state, now), now);
  if (!step.changed) step.state = state;
  return step;
}

Instant expiry(const Quota& quota, const State& state) noexcept {
  if (state.is_bucket()) return expiry(quota, state.bucket());
  const Instant cooldown_end = instant_from_epoch_us(state.cooldown_until_us);
  const int windows = windows_until_fresh(state);
  if (windows == 0) return cooldown_end;
  return std::max(instant_from_epoch_us(state.time_us) + windows * quota.window(), cooldown_end);
}

}  // namespace weir::algo
