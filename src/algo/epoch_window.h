// The windows of fixed_window, sliding_window and exponential_backoff: one after the other since
// 1970, so that all nodes agree when a window begins without asking anyone.
//
// Thread rule: pure functions. Tested by wide_math_test.cc.

#pragma once

#include <cstdint>

namespace weir::algo {

// Where `now_us` is, seen from the window that starts at `start_us`.
enum class WindowAge : std::uint8_t {
  kCurrent,   // in it
  kPrevious,  // in the one right after it
  kOld,       // later than that
  kAhead,     // up to one window before it: a clock that lags, which is believed (step.h)
  kFuture,    // earlier than that: a mistaken clock wrote it
};

// No division: a check costs no more than this while its window lasts.
// REQUIRES: start_us is a multiple of window_us
inline WindowAge window_age(std::int64_t start_us, std::int64_t window_us,
                            std::int64_t now_us) noexcept {
  const std::int64_t elapsed_us = now_us - start_us;
  if (elapsed_us < 0) return elapsed_us >= -window_us ? WindowAge::kAhead : WindowAge::kFuture;
  if (elapsed_us < window_us) return WindowAge::kCurrent;
  return elapsed_us < 2 * window_us ? WindowAge::kPrevious : WindowAge::kOld;
}

// REQUIRES: now_us >= 0
inline std::int64_t window_start(std::int64_t window_us, std::int64_t now_us) noexcept {
  return now_us - now_us % window_us;
}

// The start of the window that a state of the window at `start_us` counts in at `now`. Units of the
// state are over if it is later, and were moved by a mistaken clock if it is earlier.
// holds_any() is whether it holds anything; else there is nothing to believe.
template <typename HoldsAny>
std::int64_t rolled_start(std::int64_t start_us, std::int64_t window_us, std::int64_t now_us,
                          HoldsAny holds_any) noexcept {
  switch (window_age(start_us, window_us, now_us)) {
    case WindowAge::kCurrent: return start_us;
    case WindowAge::kPrevious: return start_us + window_us;
    case WindowAge::kAhead:
      if (holds_any()) return start_us;
      [[fallthrough]];
    case WindowAge::kOld:
    case WindowAge::kFuture: break;
  }
  return window_start(window_us, now_us);
}

}  // namespace weir::algo
