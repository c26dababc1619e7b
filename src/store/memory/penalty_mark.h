// PenaltyMark: an adaptive key's penalty as one number, small enough to fit next to two counts in
// sixteen bytes.
//
//   number = (x * 6 + level) * 2 + denied in this window      x: the row of denials, 0 to 9;
//                                                             or 9 + grains of the cooldown
//
// In a cooldown nothing is counted, so a key has a row or a cooldown, never both. The cooldown ends
// at a multiple of a grain, and is counted from the grain in which the window begins.
//
// Thread rule: values. Tested by packing_test.cc.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "algo/adaptive.h"
#include "algo/exponential_backoff.h"
#include "algo/penalty.h"

namespace weir {

class PenaltyMark {
 public:
  explicit constexpr PenaltyMark(std::uint64_t number) : number_(number) {}

  static PenaltyMark of(const algo::AdaptiveState& state) {
    const std::int64_t grains =
        state.cooldown_until_us / algo::kCooldownGrainUs - state.time_us / algo::kCooldownGrainUs;
    const std::int64_t row_or_cooldown = state.cooldown_until_us > 0
                                             ? kRows - 1 + std::max<std::int64_t>(1, grains)
                                             : state.deny_run;
    const std::int64_t number =
        (row_or_cooldown * kLevels + state.level) * 2 + (state.denied_in_window ? 1 : 0);
    return PenaltyMark(static_cast<std::uint64_t>(number));
  }

  // Puts the penalty into a state whose window is set.
  void put_into(algo::AdaptiveState& state) const {
    const auto row_or_cooldown = static_cast<std::int64_t>(number_ / (2 * kLevels));
    state.denied_in_window = number_ % 2 != 0;
    state.level = static_cast<std::uint8_t>(number_ / 2 % kLevels);
    if (row_or_cooldown < kRows) {
      state.deny_run = static_cast<std::uint8_t>(row_or_cooldown);
      return;
    }
    const std::int64_t grains = row_or_cooldown - (kRows - 1);
    state.cooldown_until_us =
        (state.time_us / algo::kCooldownGrainUs + grains) * algo::kCooldownGrainUs;
  }

  constexpr std::uint64_t number() const { return number_; }

  // Bits for every mark of a window shorter than 2^(shift + 2) microseconds. A cooldown ends less
  // than a grain after 32 s from somewhere in the window.
  static constexpr int bits(int shift) {
    const std::int64_t longest_us = (std::int64_t{4} << shift) + algo::kCooldown.count();
    const std::int64_t grains = longest_us / algo::kCooldownGrainUs + 3;
    const auto numbers = static_cast<std::uint64_t>((kRows + grains) * kLevels * 2);
    return static_cast<int>(std::bit_width(numbers));
  }

 private:
  static constexpr std::int64_t kRows = algo::kDenialsPerLevel;
  static constexpr std::int64_t kLevels = algo::kBackoffLevelMax + 1;

  std::uint64_t number_;
};

}  // namespace weir
