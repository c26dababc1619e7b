#include "weir/clock.h"

#include <chrono>

namespace weir {
namespace {

template <typename SourceClock>
Duration since_its_epoch() noexcept {
  return std::chrono::floor<Duration>(SourceClock::now().time_since_epoch());
}

}  // namespace

SystemClock::SystemClock() noexcept
    : wall_minus_monotonic_(since_its_epoch<std::chrono::system_clock>() -
                            since_its_epoch<std::chrono::steady_clock>()) {}

Instant SystemClock::now() const noexcept {
  return Instant{since_its_epoch<std::chrono::steady_clock>() + wall_minus_monotonic_};
}

}  // namespace weir
