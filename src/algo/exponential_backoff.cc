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

// How many windows, the counted one included, until the state has at most a cooldown.
int windows_until_fresh(const State& state) noexcept {
  return std::max(windows_of_penalty(state), state.count > 0 ? 1 : 0);
}

// The functions that penalty.h needs.
struct Counts {
  static State roll(const Quota& quota, const State& state, Instant now) noexcept {
    const std::int64_t window_us = quota.window().count();
    State rolled = state;
    rolled.start_us = rolled_start(state.start_us, window_us, epoch_us(now),
                                   [&] { return windows_until_fresh(state) > 0; });
    if (rolled.start_us > state.start_us) {
      const std::int64_t finished = (rolled.start_us - state.start_us) / window_us;
      rolled.count = 0;
      pass_windows(rolled, finished);
    }
    rolled.cooldown_until_us = std::min(rolled.cooldown_until_us, epoch_us(now + kCooldown));
    return rolled;
  }

  static bool in_cooldown(const State& rolled, Instant now) noexcept {
    return rolled.cooldown_until_us > epoch_us(now);
  }

  static std::int64_t cooldown_end_us(const State&, Instant now) noexcept {
    return epoch_us(now + kCooldown);
  }

  static bool was_moved(const State& state, const State& rolled) noexcept {
    return rolled.start_us < state.start_us || rolled.cooldown_until_us < state.cooldown_until_us;
  }

  static std::int64_t held(const Quota&, const State& rolled, Instant) noexcept {
    return rolled.count;
  }

  static void spend(State& rolled, std::int64_t cost) noexcept { rolled.count += cost; }

  // The cooldown's end, or the start of a later window. Each window lowers the level by one. At
  // level 0 anything up to the limit fits, so few windows need to be tried.
  static Instant admitted_at(const Quota& quota, const State& state, std::int64_t cost,
                             Instant now) noexcept {
    Instant at = std::max(now, instant_from_epoch_us(state.cooldown_until_us));
    for (int windows = 0; windows < kBackoffLevelMax + 2; ++windows) {
      const State then = roll(quota, state, at);
      if (fits<Counts>(quota, then, cost, at)) break;
      at = instant_from_epoch_us(then.start_us) + quota.window();
    }
    return at;
  }

  static Step<State> give_back(const Quota& quota, const State& state, std::int64_t units,
                               Instant now) noexcept {
    State rolled = roll(quota, state, now);
    const bool in_its_window = rolled.start_us == state.start_us && epoch_us(now) >= state.start_us;
    const std::int64_t returned = in_its_window ? std::min(units, rolled.count) : 0;
    rolled.count -= returned;
    const Decision decision = describe<Counts>(quota, rolled, Verdict::kAllowed, now);
    return {returned > 0 ? rolled : state, decision, returned > 0};
  }
};

}  // namespace

Step<State> decide(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  return decide_backoff<Counts>(quota, state, cost, now);
}

Step<State> charge(const Quota& quota, const State& state, std::int64_t cost,
                   Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  return after_charge(quota, state, charged<Counts>(quota, state, cost, now), now);
}

Step<State> record_denial(const Quota& quota, const State& state, Instant now) noexcept {
  return deny_unit<Counts>(quota, state, now);
}

Instant expiry(const Quota& quota, const State& state) noexcept {
  const Instant cooldown_end = instant_from_epoch_us(state.cooldown_until_us);
  const int windows = windows_until_fresh(state);
  if (windows == 0) return cooldown_end;
  return std::max(instant_from_epoch_us(state.start_us) + windows * quota.window(), cooldown_end);
}

}  // namespace weir::algo
