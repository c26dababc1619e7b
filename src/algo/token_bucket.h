// Token bucket, stored as one instant (GCRA, the generic cell rate algorithm).
//
// A key's state is its theoretical arrival time (TAT): the instant at which the bucket is full
// again. The distance from now to it is the debt:
//
//      now                TAT                  now + capacity * T
//   ────┼──────────────────┼───────────────────────────┼────► time
//       |<───── debt ─────>|<──── still spendable ────>|
//
// A cost of n adds n * T of debt, where T = window / limit is the time that earns one unit. It is
// allowed if the debt stays within capacity * T. That decides exactly as a bucket of `capacity`
// tokens that gets one token every T.
//
//   remaining  floor(capacity - debt / T)
//   retry      until the debt has fallen far enough, rounded up to a microsecond
//   more       until the debt has fallen by what is missing of the next unit: a microsecond late
//              at most
//   reset      the debt, rounded up to a microsecond
//
// In any interval of length t it admits at most capacity + t / T.
//
// It never drifts, although T is rarely a whole number of microseconds (3 a second). TAT is kept in
// microseconds and ticks of 1/ticks_per_us of a microsecond, and T is a whole number of ticks
// (weir/quota.h). A million refills at 3/s end on the exact tick.
//
// A count and a timestamp would be as many numbers, but each refill would round.
//
// A clock that stepped back sees more debt than capacity allows. Up to one window more is believed,
// and denied until it is paid off; beyond that the debt becomes exactly full. The same happens to a
// key whose burst was lowered by more than a window's worth.
//
// Thread rule: pure. Tested by token_bucket_test.cc, small_worlds_test.cc, properties_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/step.h"
#include "algo/wide_math.h"
#include "weir/quota.h"

namespace weir::algo {

// TAT = tat_us + tat_ticks / ticks_per_us microseconds.
struct TokenBucketState {
  std::int64_t tat_us = 0;
  std::int64_t tat_ticks = 0;  // 0 <= tat_ticks < ticks_per_us

  friend bool operator==(const TokenBucketState&, const TokenBucketState&) = default;
};

// The ticks of `state`. If another limit wrote them, they may be more than a microsecond has under
// this quota.
inline std::int64_t ticks_of(const Quota& quota, const TokenBucketState& state) noexcept {
  return std::min(state.tat_ticks, quota.ticks_per_us() - 1);
}

// The time from which the key is as if never seen: TAT, rounded up.
inline Instant expiry(const Quota& quota, const TokenBucketState& state) noexcept {
  return instant_from_epoch_us(state.tat_us + (ticks_of(quota, state) > 0 ? 1 : 0));
}

// Debts and capacities up to this many ticks are computed in 64 bits: their sums and
// differences cannot overflow. All but extreme quotas stay below it.
inline constexpr std::int64_t kNarrowTicksMax = std::int64_t{1} << 61;

// The time until one unit more is left, computed from an answer, which need not carry it.
template <typename Int>
Duration more_after(const Quota& quota, std::int64_t remaining, Duration reset_after) noexcept {
  if (remaining >= quota.capacity()) return Duration{0};
  const Int ticks = Int{quota.capacity() - remaining - 1} * quota.ticks_per_unit();
  const bool ticks_are_us = quota.ticks_per_us() == 1;
  return reset_after -
         Duration{static_cast<std::int64_t>(ticks_are_us ? ticks : ticks / quota.ticks_per_us())};
}

// The decision, but for retry_after, of a request that leaves the key with this debt, and the key's
// new state. Inline, because a call would take twice as many instructions.
template <typename Int>
[[gnu::always_inline]] inline Step<TokenBucketState> settle(const Quota& quota, Int debt,
                                                            Verdict verdict, Instant now) noexcept {
  const Int full = Int{quota.capacity()} * quota.ticks_per_unit();
  // If T is whole, a tick is a microsecond: one division less, some 5 ns.
  const bool ticks_are_us = quota.ticks_per_us() == 1;
  const auto whole_us =
      static_cast<std::int64_t>(ticks_are_us ? debt : debt / quota.ticks_per_us());
  const auto ticks = static_cast<std::int64_t>(ticks_are_us ? 0 : debt % quota.ticks_per_us());
  Decision decision;
  decision.verdict = verdict;
  decision.limit = quota.capacity();
  if (debt < full) {
    decision.remaining = static_cast<std::int64_t>((full - debt) / quota.ticks_per_unit());
  }
  decision.reset_after = Duration{whole_us + (ticks > 0 ? 1 : 0)};
  decision.more_after = more_after<Int>(quota, decision.remaining, decision.reset_after);
  return {{epoch_us(now) + whole_us, ticks}, decision, true};
}

// Whether no clock within a window of `now` can have written such a debt (see the top of the file).
// Call it for a debt over capacity only: it multiplies in 128 bits, as ticks of a window may need.
inline bool is_beyond_belief(const Quota& quota, Int128 debt) noexcept {
  const Int128 full = Int128{quota.capacity()} * quota.ticks_per_unit();
  return debt > full + Int128{quota.window().count()} * quota.ticks_per_us();
}

// Decides for a debt in ticks. Int must hold it, and capacity * T.
// REQUIRES: cost >= 0
template <typename Int>
Step<TokenBucketState> decide_ticks(const Quota& quota, const TokenBucketState& state, Int debt,
                                    std::int64_t cost, Instant now) noexcept {
  const Int full = Int{quota.capacity()} * quota.ticks_per_unit();
  const bool moved = debt > full && is_beyond_belief(quota, debt);
  if (moved) debt = full;

  if (cost > quota.capacity()) {
    return {state, settle(quota, debt, Verdict::kNever, now).decision, false};
  }
  const Int price = Int{cost} * quota.ticks_per_unit();
  if (debt + price > full) {
    Step<TokenBucketState> step = settle(quota, debt, Verdict::kDenied, now);
    const Int wait = ceil_div<Int>(debt + price - full, quota.ticks_per_us());
    step.decision.retry_after = Duration{static_cast<std::int64_t>(wait)};
    step.changed = moved && cost > 0;
    if (!step.changed) step.state = state;
    return step;
  }
  Step<TokenBucketState> step = settle<Int>(quota, debt + price, Verdict::kAllowed, now);
  if (cost == 0) step = {state, step.decision, false};
  return step;
}

// The debt at `now`, in ticks: 0 if TAT has passed.
inline Int128 debt_ticks(const Quota& quota, const TokenBucketState& state, Instant now) noexcept {
  const std::int64_t ahead_us = state.tat_us - epoch_us(now);
  if (ahead_us < 0) return 0;
  return Int128{ahead_us} * quota.ticks_per_us() + ticks_of(quota, state);
}

// Gives back `units`; never beyond a full bucket.
inline Step<TokenBucketState> give_back(const Quota& quota, const TokenBucketState& state,
                                        std::int64_t units, Instant now) noexcept {
  const Int128 debt = debt_ticks(quota, state, now);
  // At limit 0 a unit has no T: it was spent under a limit that is not known any more.
  const Int128 returned = quota.limit() == 0 ? 0 : Int128{units} * quota.ticks_per_unit();
  const Int128 left = std::max<Int128>(0, debt - returned);
  const Step<TokenBucketState> step = settle(quota, left, Verdict::kAllowed, now);
  return left == debt ? Step<TokenBucketState>{state, step.decision, false} : step;
}

// Decides one request; step.h has the rules that all algorithms share.
inline Step<TokenBucketState> decide(const Quota& quota, const TokenBucketState& state,
                                     std::int64_t cost, Instant now) noexcept {
  if (cost < 0) return give_back(quota, state, -cost, now);

  const Int128 debt = debt_ticks(quota, state, now);
  const Int128 full = Int128{quota.capacity()} * quota.ticks_per_unit();
  if (std::max(debt, full) <= kNarrowTicksMax) {
    return decide_ticks(quota, state, static_cast<std::int64_t>(debt), cost, now);
  }
  return decide_ticks(quota, state, debt, cost, now);
}

// Charges though it may not fit: step.h. The debt grows up to the largest that a clock within a
// window of `now` could have written.
inline Step<TokenBucketState> charge(const Quota& quota, const TokenBucketState& state,
                                     std::int64_t cost, Instant now) noexcept {
  if (!is_charge(quota, cost)) return decide(quota, state, cost, now);
  const Int128 full = Int128{quota.capacity()} * quota.ticks_per_unit();
  const Int128 most = Int128{quota.debt_max()} * quota.ticks_per_unit();
  const Int128 debt = debt_ticks(quota, state, now);
  const Int128 before = is_beyond_belief(quota, debt) ? full : debt;
  const Int128 price = Int128{cost} * quota.ticks_per_unit();
  const auto charged = settle(quota, std::min(before + price, most), Verdict::kAllowed, now);
  return after_charge(quota, state, charged.state, now);
}

}  // namespace weir::algo
