// Decision: the answer to "may this key spend this much now, and if not, when?"
//
// Times in it are durations, not instants: the clock that decided may be another machine's. A
// caller that waits `retry_after` never comes back too early. Round up, never down, when converting
// to coarser units (whole_seconds below).
//
// Thread rule: values. Tested by src/algo/*_test.cc.

#pragma once

#include <cstdint>

#include "weir/time.h"

namespace weir {

enum class Verdict : std::uint8_t {
  kAllowed,
  kDenied,  // not now; the same request fits after `retry_after` if nobody else spends
  kNever,   // cost > the quota can ever hold: no wait helps, so there is no retry hint
};

struct Decision {
  Verdict verdict = Verdict::kAllowed;
  // Level of exponential_backoff, 0 to 5; 0 while any other algorithm decides.
  std::uint8_t backoff_level = 0;
  // The most an idle key could spend at once: the limit, or the burst of a token
  // bucket, or the halved limit of a key in backoff.
  std::int64_t limit = 0;
  // Units still spendable at `now`, after this request. 0 to `limit`.
  std::int64_t remaining = 0;
  // Zero unless kDenied.
  Duration retry_after{0};
  // The time until the key is as if it had never been seen, if nothing more is spent.
  Duration reset_after{0};
  // The time until `remaining` grows, if nothing more is spent. Zero if it will not grow: nothing
  // is spent, or the limit is 0.
  Duration more_after{0};
  // The verdict is kDenied because the store had no room to count the key (OnFull in weir/store.h),
  // not because of what the key has spent. `retry_after` is a guess then.
  bool is_store_full = false;

  constexpr bool allowed() const noexcept { return verdict == Verdict::kAllowed; }
  friend constexpr bool operator==(const Decision&, const Decision&) = default;
};

// Whole seconds, rounded up: what Retry-After and RateLimit headers carry.
// REQUIRES: duration >= 0
constexpr std::int64_t whole_seconds(Duration duration) noexcept {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace weir
