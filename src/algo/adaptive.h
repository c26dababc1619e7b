// Adaptive: sliding window, token bucket or exponential backoff, whichever is active now, over
// one state a key.
//
// quota.active() says which algorithm decides. The state says its own kind: two counts, as of a
// sliding window, or a bucket's instant. If the active algorithm reads the other kind, the state is
// first carried over, by one rule for all pairs:
//
//   u = limit - remaining    units that are not left, as the state counts them now
//   the new state holds u    so that remaining is what it was: no switch gives or takes any
//
//   into a bucket   debt = min(u, 2 * limit) * T
//   into counts     previous = min(limit, (u - c) * W / (W - e)), rounded down: what fades at once
//                   current = u - ceil(previous * (W - e) / W): the rest; c is what it was
//   a penalty       halves what remains, or leaves nothing; so u has it, and it ends here
//
// A bucket may owe more than its capacity: after charges that always count, or by a clock that runs
// ahead. Then its counts are those of the moment at which it owes one unit more than its capacity.
// Such counts deny everything, looks included.
//
// Under `adaptive`, backoff counts as a sliding window with a halved limit, not as a fixed window.
// So in all three algorithms, u falls by limit / W at most. Hence no span of a window's length
// admits more than 2 * limit, however often the algorithm switches (docs/internals/algorithms.md
// has the proof). Levels and cooldowns are those of exponential_backoff.h. Only, a cooldown ends at
// the next multiple of kCooldownGrainUs, so that it fits into 16 bytes with the rest.
//
// Spending and denials store the carried state; looking and giving back do not.
//
// Thread rule: pure. Tested by testdata/adaptive.txt, adaptive_properties_test.cc,
// properties_test.cc.

#pragma once

#include <cstdint>

#include "algo/sliding_window.h"
#include "algo/step.h"
#include "algo/token_bucket.h"
#include "weir/quota.h"

namespace weir::algo {

inline constexpr std::int64_t kCooldownGrainUs = std::int64_t{1} << 18;

struct AdaptiveState {
  enum class Kind : std::uint8_t { kCounts, kBucket };

  std::int64_t time_us = 0;            // start of the current window; a bucket's TAT
  std::int64_t previous = 0;           // a bucket's ticks of TAT
  std::int64_t current = 0;            // 0 in a bucket
  std::int64_t cooldown_until_us = 0;  // 0, or a multiple of the grain
  Kind kind = Kind::kCounts;
  // The penalty; counts only.
  std::uint8_t deny_run = 0;      // denials in a row, 0 to 9; 0 in a cooldown
  std::uint8_t level = 0;         // 0 to kBackoffLevelMax
  bool denied_in_window = false;  // the current window is not quiet

  static AdaptiveState of(const SlidingWindowState& counts) noexcept {
    return {.time_us = counts.start_us, .previous = counts.previous, .current = counts.current};
  }
  static AdaptiveState of(const TokenBucketState& bucket) noexcept {
    return {.time_us = bucket.tat_us, .previous = bucket.tat_ticks, .kind = Kind::kBucket};
  }

  bool is_bucket() const noexcept { return kind == Kind::kBucket; }
  bool has_penalty() const noexcept {
    return deny_run > 0 || level > 0 || denied_in_window || cooldown_until_us > 0;
  }
  // The state in the form that the named algorithm reads. REQUIRES: it is of that kind
  SlidingWindowState counts() const noexcept { return {time_us, previous, current}; }
  TokenBucketState bucket() const noexcept { return {time_us, previous}; }

  friend bool operator==(const AdaptiveState&, const AdaptiveState&) = default;
};

// The time from which the key is as if never seen. It has passed if the state holds nothing.
[[nodiscard]] Instant expiry(const Quota& quota, const AdaptiveState& state) noexcept;

// The state in the form that the active algorithm reads at `now`. Unchanged if it has that form.
[[nodiscard]] AdaptiveState carried(const Quota& quota, const AdaptiveState& state,
                                    Instant now) noexcept;

// Counts a denial with another cause, as exponential_backoff.h says.
// REQUIRES: quota.active() is kExponentialBackoff
[[nodiscard]] Step<AdaptiveState> record_denial(const Quota& quota, const AdaptiveState& state,
                                                Instant now) noexcept;

// decide() where backoff is active, or the state is of the other kind or has a penalty.
[[nodiscard]] Step<AdaptiveState> decide_carried(const Quota& quota, const AdaptiveState& state,
                                                 std::int64_t cost, Instant now) noexcept;

template <typename State>
Step<AdaptiveState> as_adaptive(const Step<State>& step) noexcept {
  return {AdaptiveState::of(step.state), step.decision, step.changed};
}

// Charges though it may not fit: step.h, and exponential_backoff.h where backoff is active.
[[nodiscard]] Step<AdaptiveState> charge(const Quota& quota, const AdaptiveState& state,
                                         std::int64_t cost, Instant now) noexcept;

// Decides one request; step.h has the rules that all algorithms share.
inline Step<AdaptiveState> decide(const Quota& quota, const AdaptiveState& state, std::int64_t cost,
                                  Instant now) noexcept {
  if (quota.active() == Algorithm::kSlidingWindow && !state.is_bucket() && !state.has_penalty()) {
    return as_adaptive(decide(quota, state.counts(), cost, now));
  }
  if (quota.active() == Algorithm::kTokenBucket && state.is_bucket()) {
    return as_adaptive(decide(quota, state.bucket(), cost, now));
  }
  return decide_carried(quota, state, cost, now);
}

}  // namespace weir::algo
