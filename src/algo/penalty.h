// Penalty: what exponential backoff remembers of a key's denials, in whichever state that is:
// the row of denials, the level, whether the window that counts now had one, and the end of
// the cooldown. exponential_backoff.h says what they mean.
//
// Thread rule: pure functions. Tested by exponential_backoff_test.cc and adaptive_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "algo/exponential_backoff.h"

namespace weir::algo {

// `windows` have finished since; all but the first were quiet.
template <typename State>
void pass_windows(State& state, std::int64_t windows) noexcept {
  const std::int64_t quiet = windows - (state.denied_in_window ? 1 : 0);
  if (quiet > 0) state.deny_run = 0;
  state.level = static_cast<std::uint8_t>(std::max<std::int64_t>(0, state.level - quiet));
  state.denied_in_window = false;
}

// One more denial in a row, outside of a cooldown. If it begins one, that ends then.
template <typename State>
void count_denial(State& state, std::int64_t cooldown_end_us) noexcept {
  state.denied_in_window = true;
  if (++state.deny_run < kDenialsPerLevel) return;
  state.deny_run = 0;
  state.level = static_cast<std::uint8_t>(std::min(kBackoffLevelMax, state.level + 1));
  if (state.level == kBackoffLevelMax) state.cooldown_until_us = cooldown_end_us;
}

// Windows, from the one counted in, until neither row nor level is left.
template <typename State>
int windows_of_penalty(const State& state) noexcept {
  // Quiet ones that have to pass: one for each level, and at least one for the row.
  const int quiet = std::max<int>(state.level, state.deny_run > 0 ? 1 : 0);
  return quiet + (quiet > 0 && state.denied_in_window ? 1 : 0);
}

}  // namespace weir::algo
