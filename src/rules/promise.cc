#include "rules/promise.h"

#include <algorithm>
#include <limits>

#include "algo/strict_window.h"
#include "algo/wide_math.h"

namespace weir {
namespace {

// The promise of one counter that all nodes ask.
Promise promise_of(const Quota& quota) {
  const std::int64_t limit = quota.limit();
  const std::int64_t window_us = quota.window().count();
  switch (quota.algorithm()) {
    case Algorithm::kSlidingLog: return {};
    case Algorithm::kStrictWindow: return {.over = 0, .under = limit};
    case Algorithm::kFixedWindow:
    case Algorithm::kCalendarWindow: return {.over = limit, .under = 0};
    // Admits all at the end of the previous window, and what fits when that has almost faded.
    case Algorithm::kSlidingWindow:
      return {.over = algo::mul_div_floor(limit, window_us - 2, window_us), .under = limit};
    // Admits the burst, and what flows in during a window.
    case Algorithm::kTokenBucket:
      return {
          .over = std::max<std::int64_t>(0, quota.capacity() - algo::ceil_div(limit, window_us)),
          .under = std::max<std::int64_t>(0, limit - quota.capacity())};
    case Algorithm::kExponentialBackoff:
    case Algorithm::kAdaptive: break;
  }
  return {.over = limit, .under = limit};
}

std::int64_t clamped(algo::Int128 units) {
  return static_cast<std::int64_t>(
      std::min<algo::Int128>(units, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

// The client spends the limit, and waits until that stops counting.
std::int64_t steady_units(const Quota& quota) {
  if (!quota.is_never_over()) return quota.limit();
  const std::int64_t counts_us = algo::StrictWindowState::kCounts * algo::sub_window_us(quota);
  return algo::mul_div_floor(quota.limit(), quota.window().count(), counts_us);
}

// Nobody knows how a key's units lay before it was precise: up to a quarter of its limit. Limits
// larger than its counts can hold are rounded.
Promise precise_promise_of(const Quota& quota) {
  constexpr std::int64_t kExactMax = 0x7fff;
  const std::int64_t limit = quota.limit();
  const std::int64_t rounded = limit > kExactMax ? algo::ceil_div(limit, (kExactMax + 1) / 2) : 0;
  return {.over = limit / 4 + rounded, .under = limit / 4 + rounded};
}

Duration precise_grain(const Quota& quota) {
  return Duration{algo::ceil_div(quota.window().count(), kGrains)};
}

Promise promise_of(const Quota& quota, Mode mode, std::int64_t counters) {
  Promise promise = promise_of(quota);
  const std::int64_t limit = quota.limit();
  if (quota.is_never_over()) mode = Mode::kLocal;
  const bool is_shared = mode == Mode::kStrict || mode == Mode::kLeased ||
                         (has_copies(mode) && !is_copied(quota.algorithm()));
  // Other nodes may hold what is left, or have told late what they admitted.
  if (mode == Mode::kLeased || (has_copies(mode) && !is_shared)) promise.under = limit;
  if (is_shared) return promise;
  // Each counter may admit as much as one alone.
  promise.over = clamped(algo::Int128{counters} * (limit + promise.over) - limit);
  return promise;
}

std::optional<std::int64_t> over_now(const Quota& quota, Mode mode, OnStoreFailure on_failure,
                                     const SharingFacts& facts) {
  const bool are_copied = has_copies(mode) && is_copied(quota.algorithm());
  if (!facts.is_whole && on_failure == OnStoreFailure::kAllow) return std::nullopt;
  // Nobody knows how many nodes there are before this one has heard of them.
  const bool has_heard = facts.silence != Duration::max();
  if (!has_heard && (are_copied || on_failure != OnStoreFailure::kDeny)) return std::nullopt;
  const bool is_shared = facts.is_whole || on_failure == OnStoreFailure::kDeny;
  if (is_shared && !are_copied) return 0;
  // Each counts by itself, as without sharing.
  const algo::Int128 alone = quota.limit() + promise_of(quota).over;
  const algo::Int128 most = ((are_copied ? facts.stores : facts.nodes) - 1) * alone;
  if (!is_shared || facts.busiest.value_or(0) == 0) return clamped(most);
  const auto pieces = [&](Duration span) {
    return algo::ceil_div(span.count(), facts.period.count()) + 1;
  };
  const Duration told = facts.period + facts.trip;
  const Duration known = facts.period + std::max(facts.trip, facts.late);
  const Duration lacks = std::max(facts.silence, known + facts.silence_before);
  const algo::Int128 syncs = pieces(lacks + told) + (facts.stores - 1) * pieces(told);
  return clamped(std::min(most, syncs * *facts.busiest + quota.limit() / facts.kUntoldPart));
}

}  // namespace weir
