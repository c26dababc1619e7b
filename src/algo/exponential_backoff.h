// Exponential backoff: a fixed window whose limit halves as a key keeps hammering.
//
// Each level halves the limit: max(1, limit / 2^level), level 0 to 5.
//
//   up     10 denials in a row raise the level by one. An allowed request starts the
//          row over; a window's end does not.
//   top    10 denials in a row that lead to level 5, or happen there, start a cooldown:
//          for 32 s everything is denied, looks too. Requests in a cooldown are not
//          counted: they do not prolong it, and a window that saw nothing else is quiet.
//   down   a finished window without a denial lowers the level by one and starts the
//          row over. A key that stays away for five windows is back to normal.
//
//   limit      the halved limit
//   remaining  halved limit - count, 0 in a cooldown
//   retry      2^level s, or until the request would be admitted if that is longer: the
//              cooldown's end, the window's end, or the windows until a quieter level
//              has room for its cost. Never early, but it may be late.
//   more       when that lets more through than remains
//   reset      when count, row, level and cooldown are all gone
//
// A cost over the halved limit is denied; only one over the limit itself is kNever,
// which is no denial for the row. Clocks that step back: step.h; a cooldown never ends
// later than 32 s from `now`.
//
// Thread rule: pure. Tested by testdata/exponential_backoff.txt, small_worlds_test.cc,
// properties_test.cc.

#pragma once

#include <chrono>
#include <cstdint>

#include "algo/step.h"
#include "weir/quota.h"

namespace weir::algo {

inline constexpr int kBackoffLevelMax = 5;
inline constexpr int kDenialsPerLevel = 10;
inline constexpr Duration kCooldown = std::chrono::seconds(32);  // 2^5 s, as at level 5

struct ExponentialBackoffState {
  std::int64_t start_us = 0;           // of the window counted in; a multiple of the window
  std::int64_t count = 0;              // units spent in it; >= 0
  std::int64_t cooldown_until_us = 0;  // over if not after `now`
  std::uint8_t deny_run = 0;           // denials in a row, 0 to 9
  std::uint8_t level = 0;              // 0 to kBackoffLevelMax
  bool denied_in_window = false;       // the window counted in is not quiet

  friend bool operator==(const ExponentialBackoffState&, const ExponentialBackoffState&) = default;
};

// The units that a key of that level may spend in one window.
[[nodiscard]] std::int64_t halved_limit(const Quota& quota, int level) noexcept;

// Decides one request; step.h has the rules that all algorithms share, with one
// difference: a denial is remembered.
[[nodiscard]] Step<ExponentialBackoffState> decide(const Quota& quota,
                                                   const ExponentialBackoffState& state,
                                                   std::int64_t cost, Instant now) noexcept;

// Charges though it may not fit: step.h. A charge that does not fit is a denial, too; one that fits
// is an allowed request.
[[nodiscard]] Step<ExponentialBackoffState> charge(const Quota& quota,
                                                   const ExponentialBackoffState& state,
                                                   std::int64_t cost, Instant now) noexcept;

// Counts a denial that something else caused, such as another charge of the same
// request. The decision is that of a denied request of one unit. Like any denial it does
// not count during a cooldown, nor at limit 0.
[[nodiscard]] Step<ExponentialBackoffState> record_denial(const Quota& quota,
                                                          const ExponentialBackoffState& state,
                                                          Instant now) noexcept;

// The time from which the key is as if never seen. It has passed if the state holds nothing.
[[nodiscard]] Instant expiry(const Quota& quota, const ExponentialBackoffState& state) noexcept;

}  // namespace weir::algo
