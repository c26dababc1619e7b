// From an algorithm's name to its state's type: the one switch that both halves of the
// memory store use.
//
// Thread rule: pure functions. Tested through memory_store_test.cc and tests/conformance.

#pragma once

#include <algorithm>
#include <type_traits>

#include "algo/adaptive.h"
#include "algo/calendar_window.h"
#include "algo/exponential_backoff.h"
#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/strict_window.h"
#include "algo/token_bucket.h"
#include "base/assert.h"
#include "weir/quota.h"

namespace weir {

// In the WebAssembly module nobody can switch an adaptive quota. It takes no adaptive quotas, which
// saves 8 KB, no strict windows and no calendars.
#ifdef WEIR_WITHOUT_ADAPTIVE
inline constexpr bool kHasAllStates = false;
#else
inline constexpr bool kHasAllStates = true;
#endif

enum class States {
  kAll,
  kCompact,  // those of the lock-free table only
};

// Calls `action` with the type of the algorithm's state, as a std::type_identity.
// REQUIRES: not kSlidingLog, whose state is no value; nor kExponentialBackoff, if kCompact
template <States kStates = States::kAll, typename Action>
decltype(auto) with_state(Algorithm algorithm, Action&& action) {
  switch (algorithm) {
    [[likely]] case Algorithm::kSlidingWindow:
      return action(std::type_identity<algo::SlidingWindowState>{});
    case Algorithm::kFixedWindow: return action(std::type_identity<algo::FixedWindowState>{});
    case Algorithm::kTokenBucket: return action(std::type_identity<algo::TokenBucketState>{});
    case Algorithm::kExponentialBackoff:
      if constexpr (kStates == States::kAll) {
        return action(std::type_identity<algo::ExponentialBackoffState>{});
      }
      break;
    case Algorithm::kAdaptive:
      if constexpr (kHasAllStates) return action(std::type_identity<algo::AdaptiveState>{});
      break;
    case Algorithm::kStrictWindow:
      if constexpr (kHasAllStates) return action(std::type_identity<algo::StrictWindowState>{});
      break;
    case Algorithm::kCalendarWindow:
      if constexpr (kHasAllStates) return action(std::type_identity<algo::CalendarWindowState>{});
      break;
    case Algorithm::kSlidingLog: break;
  }
  report_bug("algorithm has such a state", __FILE__, __LINE__);
}

// Whether giving back a charge leaves the state as if it had not been charged, whatever else was
// charged meanwhile. It does not for a token bucket: others may have spent the refill that the
// charge delayed.
inline bool gives_back_exactly(const Quota& quota) {
  return quota.active() != Algorithm::kTokenBucket;
}

// Whether a denial is kept in the key's state.
inline bool counts_denials(const Quota& quota) {
  return quota.active() == Algorithm::kExponentialBackoff;
}
// Calls `action` with the type of that state. REQUIRES: counts_denials(quota)
template <typename Action>
void with_denial_state(const Quota& quota, Action&& action) {
  if (quota.algorithm() != Algorithm::kAdaptive) {
    action(std::type_identity<algo::ExponentialBackoffState>{});
  } else if constexpr (kHasAllStates) {
    action(std::type_identity<algo::AdaptiveState>{});
  }
}

// The answer to a look: whether `cost` would be allowed, and what is left before it. `decide_for`
// decides a cost and changes nothing.
template <typename DecideFor>
Decision look_at(std::int64_t cost, DecideFor decide_for) {
  Decision decision = decide_for(std::max<std::int64_t>(0, cost));
  const Decision before = decide_for(0);
  decision.remaining = before.remaining;
  decision.reset_after = before.reset_after;
  decision.more_after = before.more_after;
  return decision;
}

}  // namespace weir
