// Peaks: the most that a key has spent in a sliding window, for windows of several lengths.
//
// It measures as the algorithm sliding_window does: the count of this window, and the part of the
// last window that still overlaps. So a limit at the peak denies none of the measured requests.
//
// Thread rule: a value. Tested by peaks_test.cc.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weir/time.h"

namespace weir::lab {

inline constexpr std::array<Duration, 4> kWindows = {
    std::chrono::seconds(1), std::chrono::seconds(10), std::chrono::minutes(1),
    std::chrono::hours(1)};

class Peaks {
 public:
  // REQUIRES: times do not go back
  void count(Instant now) {
    for (std::size_t i = 0; i < kWindows.size(); ++i) spent_[i].count(epoch_us(now), kWindows[i]);
  }
  std::uint32_t of(std::size_t window) const { return spent_[window].peak; }

 private:
  struct Spent {
    std::int64_t number = 0;  // of the window
    std::uint32_t before = 0;
    std::uint32_t now = 0;
    std::uint32_t peak = 0;

    void count(std::int64_t us, Duration window) {
      const std::int64_t current = us / window.count();
      if (current != number) {
        before = current == number + 1 ? now : 0;
        now = 0;
        number = current;
      }
      ++now;
      const std::int64_t left = window.count() - us % window.count();
      const std::int64_t overlap = (before * left + window.count() - 1) / window.count();
      const auto spent = static_cast<std::uint32_t>(overlap + now);
      if (spent > peak) peak = spent;
    }
  };

  std::array<Spent, kWindows.size()> spent_{};
};

}  // namespace weir::lab
