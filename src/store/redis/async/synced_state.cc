#include "store/redis/async/synced_state.h"

#include <algorithm>

#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/token_bucket.h"

namespace weir {
namespace {

SyncedState numbers_of(const algo::FixedWindowState& state) {
  return {state.start_us, state.count, 0};
}
SyncedState numbers_of(const algo::SlidingWindowState& state) {
  return {state.start_us, state.previous, state.current};
}
SyncedState numbers_of(const algo::TokenBucketState& state) {
  return {state.tat_us, state.tat_ticks, 0};
}

// Calls `action` with the algorithm's own state.
template <typename Action>
auto with_state_of(const Quota& quota, const SyncedState& numbers, Action&& action) {
  const auto& [a, b, c] = numbers;
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow: return action(algo::FixedWindowState{a, b});
    case Algorithm::kTokenBucket: return action(algo::TokenBucketState{a, b});
    case Algorithm::kSlidingWindow:
    case Algorithm::kSlidingLog:
    case Algorithm::kExponentialBackoff:
    case Algorithm::kAdaptive: break;
  }
  return action(algo::SlidingWindowState{a, b, c});
}

algo::FixedWindowState charged(const Quota& quota, const algo::FixedWindowState& state,
                               std::int64_t units, Instant now) {
  algo::FixedWindowState rolled = algo::roll(quota, state, now);
  rolled.count += units;
  return rolled;
}

algo::SlidingWindowState charged(const Quota& quota, const algo::SlidingWindowState& state,
                                 std::int64_t units, Instant now) {
  algo::SlidingWindowState rolled = algo::roll(quota, state, now);
  rolled.current += units;
  return rolled;
}

// A bucket's debt and more, but no more than src/algo takes for a debt.
algo::TokenBucketState charged(const Quota& quota, const algo::TokenBucketState& state,
                               std::int64_t units, Instant now) {
  using algo::Int128;
  const Int128 most = Int128{quota.capacity()} * quota.ticks_per_unit() +
                      Int128{quota.window().count()} * quota.ticks_per_us();
  const Int128 debt = algo::debt_ticks(quota, state, now) + Int128{units} * quota.ticks_per_unit();
  return algo::settle(quota, std::min(debt, most), Verdict::kAllowed, now).state;
}

}  // namespace

bool is_synced(Algorithm algorithm) {
  return algorithm == Algorithm::kFixedWindow || algorithm == Algorithm::kSlidingWindow ||
         algorithm == Algorithm::kTokenBucket;
}

Decision spend(const Quota& quota, SyncedState& state, std::int64_t cost, Instant now) {
  return with_state_of(quota, state, [&](const auto& before) {
    const auto step = algo::decide(quota, before, cost, now);
    if (step.changed) state = numbers_of(step.state);
    return step.decision;
  });
}

Decision look_at(const Quota& quota, const SyncedState& state, std::int64_t cost, Instant now) {
  return with_state_of(quota, state, [&](const auto& before) {
    Decision decision = algo::decide(quota, before, 0, now).decision;
    if (cost == 0) return decision;
    const Decision spent = algo::decide(quota, before, cost, now).decision;
    decision.verdict = spent.verdict;
    decision.retry_after = spent.retry_after;
    return decision;
  });
}

void charge(const Quota& quota, SyncedState& state, std::int64_t units, Instant now) {
  if (units <= 0) return;
  state = with_state_of(quota, state, [&](const auto& before) {
    return numbers_of(charged(quota, before, units, now));
  });
}

}  // namespace weir
