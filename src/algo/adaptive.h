// Adaptive: sliding window, token bucket or exponential backoff, whichever is active now, over
// one state a key.
//
// quota.active() says which decides. The state says itself what it is: two counts, as those of a
// sliding window, or a bucket's instant. Where that is not what the active algorithm reads, the
// state is carried over first, by one rule for all pairs:
//
//   u = limit - remaining    units that are not left, as the state counts them now
//   the new state holds u    so that remaining is what it was: no switch gives or takes any
//
//   into a bucket   debt = min(u, 2 * limit) * T
//   into counts     previous = min(limit, (u - c) * W / (W - e)), rounded down: what fades at once
//                   current = u - ceil(previous * (W - e) / W): the rest; c is what it was
//   a penalty       halves what remains, or leaves nothing; so u has it, and it ends here
//
// A bucket that is charged whatever its limit says, or by a clock that runs ahead, may owe more
// than its capacity. Its counts are those of the moment at which it owes a unit more than that,
// which they deny, looks included.
//
// Under `adaptive`, backoff counts as a sliding window with a halved limit does, and not as a fixed
// one. Then u falls by limit / W at most in all three algorithms. So no span of a window's length
// admits more than 2 * limit through any number of switches (docs/internals/algorithms.md has the
// proof). Its levels and cooldowns are those of exponential_backoff.h; only ends a cooldown at the
// next multiple of kCooldownGrainUs, so that it fits into 16 bytes with the rest.
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

  std::int64_t time_us = 0;            // start of the current window; of a bucket TAT
  std::int64_t previous = 0;           // of a bucket the ticks of TAT
  std::int64_t current = 0;            // of a bucket 0
  std::int64_t cooldown_until_us = 0;  // 0, or a multiple of the grain
  Kind kind = Kind::kCounts;
  // The penalty, of counts only.
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
  // The state as the algorithm that they name reads it. REQUIRES: it is of that kind
  SlidingWindowState counts() const noexcept { return {time_us, previous, current}; }
  TokenBucketState bucket() const noexcept { return {time_us, previous}; }

  friend bool operator==(const AdaptiveState&, const AdaptiveState&) = default;
};

// From then on the key is as good as never seen. Not after any `now` if it holds nothing.
[[nodiscard]] Instant expiry(const Quota& quota, const AdaptiveState& state) noexcept;

// The state as the active algorithm reads it at `now`; the one that came in if it does.
[[nodiscard]] AdaptiveState carried(const Quota& quota, const AdaptiveState& state,
                                    Instant now) noexcept;

// Counts a denial that something else caused, as exponential_backoff.h says.
// REQUIRES: quota.active() is kExponentialBackoff
[[nodiscard]] Step<AdaptiveState> record_denial(const Quota& quota, const AdaptiveState& state,
                                                Instant now) noexcept;

// decide() where the state is not a plain one of the active algorithm.
[[nodiscard]] Step<AdaptiveState> decide_carried(const Quota& quota, const AdaptiveState& state,
                                                 std::int64_t cost, Instant now) noexcept;

template <typename State>
Step<AdaptiveState> as_adaptive(const Step<State>& step) noexcept {
  return {AdaptiveState::of(step.state), step.decision, step.changed};
}

// Counts whatever the limit says: step.h, and exponential_backoff.h where backoff is active.
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
