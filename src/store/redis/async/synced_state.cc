#include "store/redis/async/synced_state.h"

#include <algorithm>
#include <array>

#include "algo/adaptive.h"
#include "algo/calendar_window.h"
#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/token_bucket.h"
#include "rules/promise.h"

namespace weir {
namespace {

SyncedState numbers_of(const algo::FixedWindowState& state) {
  return {state.start_us, state.count, 0};
}
SyncedState numbers_of(const algo::CalendarWindowState& state) {
  return {state.end_us, state.count, 0};
}
SyncedState numbers_of(const algo::SlidingWindowState& state) {
  return {state.start_us, state.previous, state.current};
}
SyncedState numbers_of(const algo::TokenBucketState& state) {
  return {state.tat_us, state.tat_ticks, 0};
}

// An adaptive state's fourth number: its switch and the chosen algorithm, as in adaptive.lua.
constexpr std::int64_t kKinds = 4;
constexpr std::array kAlgorithms{Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                 Algorithm::kExponentialBackoff};

std::int64_t tag_of(const Quota& quota) {
  const auto* const kind = std::ranges::find(kAlgorithms, quota.active());
  return std::int64_t{quota.switch_number()} * kKinds + (kind - kAlgorithms.begin());
}

// The algorithm that a state follows; in backoff its numbers are a sliding window's.
ActiveAlgorithm followed_by(const SyncedState& numbers) {
  const bool is_bucket = numbers[3] % kKinds == 1;
  return {.algorithm = is_bucket ? Algorithm::kTokenBucket : Algorithm::kSlidingWindow,
          .number = static_cast<std::uint32_t>(numbers[3] / kKinds)};
}

algo::AdaptiveState adaptive_of(const SyncedState& numbers) {
  const auto& [a, b, c, tag] = numbers;
  if (followed_by(numbers).algorithm == Algorithm::kTokenBucket) {
    return algo::AdaptiveState::of(algo::TokenBucketState{a, b});
  }
  return algo::AdaptiveState::of(algo::SlidingWindowState{a, b, c});
}

// The quota that decides: the later switch, the state's or the quota's, wins. A key in backoff
// stays a sliding window until the next sync brings its whole state.
Quota followed(const Quota& quota, const SyncedState& numbers) {
  const ActiveAlgorithm known = followed_by(numbers);
  const bool is_whole = is_copied(quota.active()) && !is_in_backoff(numbers);
  return is_whole && quota.switch_number() > known.number ? quota : quota.following(known);
}

// Calls `action` with the algorithm's own state.
template <typename Action>
auto with_state_of(const Quota& quota, const SyncedState& numbers, Action&& action) {
  const auto& [a, b, c, tag] = numbers;
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow: return action(quota, algo::FixedWindowState{a, b});
    case Algorithm::kCalendarWindow: return action(quota, algo::CalendarWindowState{a, b});
    case Algorithm::kTokenBucket: return action(quota, algo::TokenBucketState{a, b});
    case Algorithm::kAdaptive: return action(followed(quota, numbers), adaptive_of(numbers));
    case Algorithm::kSlidingWindow:
    case Algorithm::kStrictWindow:
    case Algorithm::kSlidingLog:
    case Algorithm::kExponentialBackoff: break;
  }
  return action(quota, algo::SlidingWindowState{a, b, c});
}

template <typename State>
void keep(const Quota&, const State& state, SyncedState& numbers) {
  numbers = numbers_of(state);
}
void keep(const Quota& followed, const algo::AdaptiveState& state, SyncedState& numbers) {
  const std::int64_t tag = is_in_backoff(numbers) ? numbers[3] : tag_of(followed);
  numbers = {state.time_us, state.previous, state.current, tag};
}

}  // namespace

bool is_in_backoff(const SyncedState& state) { return state[3] % kKinds == 2; }

Decision spend(const Quota& quota, SyncedState& state, std::int64_t cost, Instant now) {
  return with_state_of(quota, state, [&](const Quota& followed, const auto& before) {
    const auto step = algo::decide(followed, before, cost, now);
    if (step.changed) keep(followed, step.state, state);
    return step.decision;
  });
}

Decision look_at(const Quota& quota, const SyncedState& state, std::int64_t cost, Instant now) {
  return with_state_of(quota, state, [&](const Quota& followed, const auto& before) {
    Decision decision = algo::decide(followed, before, 0, now).decision;
    if (cost == 0) return decision;
    const Decision spent = algo::decide(followed, before, cost, now).decision;
    decision.verdict = spent.verdict;
    decision.retry_after = spent.retry_after;
    return decision;
  });
}

std::int64_t held(const Quota& quota, const SyncedState& state, Instant now) {
  const auto& [a, b, c, tag] = state;
  const bool follows = quota.switches() && followed_by(state).algorithm == Algorithm::kTokenBucket;
  if (follows || quota.algorithm() == Algorithm::kTokenBucket) {
    const algo::Int128 debt = algo::debt_ticks(quota, algo::TokenBucketState{a, b}, now);
    const algo::Int128 units = algo::ceil_div<algo::Int128>(debt, quota.ticks_per_unit());
    return static_cast<std::int64_t>(std::min<algo::Int128>(units, quota.debt_max()));
  }
  if (quota.algorithm() == Algorithm::kFixedWindow) {
    return algo::roll(quota, algo::FixedWindowState{a, b}, now).count;
  }
  if (quota.is_by_calendar()) {
    return algo::roll(quota, algo::CalendarWindowState{a, b}, now).count;
  }
  const auto rolled = algo::roll(quota, algo::SlidingWindowState{a, b, c}, now);
  return rolled.current + algo::previous_weight(quota, rolled, now);
}

Decision charge(const Quota& quota, SyncedState& state, std::int64_t units, Instant now) {
  return with_state_of(quota, state, [&](const Quota& followed, const auto& before) {
    const auto step = algo::charge(followed, before, units, now);
    if (step.changed) keep(followed, step.state, state);
    return step.decision;
  });
}

}  // namespace weir
