// The machine's time for some 5 ns instead of 20.
//
// clock_gettime waits for all earlier instructions to finish (it fences the processor's tick
// counter), which costs a library call more than its own few nanoseconds. If the kernel itself
// trusts the counter (clocksource "tsc"), Weir reads it without the fence. It goes on from an
// anchor, a pair (ticks, time) taken from clock_gettime at most a millisecond ago:
//
//   time = anchor.time + (ticks - anchor.ticks) * rate
//
// The rate is measured between anchors and then lowered by 2^-12, more than it can be wrong. So
// between two anchors Weir's time falls behind the kernel's, by less than 0.3 us, and never has to
// go back. The counter may fail to count: another core's lags, or the machine was suspended or
// moved to other hardware. Then the difference of ticks is negative or large, and both lead to a
// new anchor.

#include "weir/clock.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>

#include "base/atomic128.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace weir {
namespace {

template <typename SourceClock>
Duration since_its_epoch() noexcept {
  return std::chrono::floor<Duration>(SourceClock::now().time_since_epoch());
}

// The processor's counter; 0 if Weir knows of none.
std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

bool kernel_trusts_ticks() {
  if (read_ticks() == 0) return false;
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == "tsc";
}

// A moment on both scales.
struct Moment {
  std::uint64_t ticks;
  std::int64_t time_us;  // since the Unix epoch

  static Moment from(Uint128 bits) noexcept {
    return {static_cast<std::uint64_t>(bits >> 64), static_cast<std::int64_t>(bits)};
  }
  Uint128 bits() const noexcept {
    return (Uint128{ticks} << 64) | static_cast<std::uint64_t>(time_us);
  }
};

constexpr std::int64_t kAnchorLifeUs = 1'000;
// How far apart the counter and the kernel's time may have been read, some 3 us, ...
constexpr std::uint64_t kReadTogetherTicks = 8'000;
// ... and over how long a rate is measured, so that two such gaps are 120 ppm of it.
constexpr std::int64_t kRateMeasuredOverUs = 50'000;
constexpr std::int64_t kRateRenewedAfterUs = 1'000'000;
constexpr int kRateShift = 40;  // the rate counts 2^-40 microseconds a tick

}  // namespace

struct SystemClock::State {
  const Duration wall_minus_monotonic =
      since_its_epoch<std::chrono::system_clock>() - since_its_epoch<std::chrono::steady_clock>();
  const bool uses_ticks = kernel_trusts_ticks();

  Atomic128 anchor;    // a Moment; zeros before the first
  Atomic128 baseline;  // the Moment since when the rate is measured
  // Relaxed: they hardly change, and an old value next to a new one does no harm.
  std::atomic<std::uint64_t> rate{0};          // 0: not yet known
  std::atomic<std::uint64_t> ticks_a_life{0};  // of an anchor

  std::int64_t kernel_time_us() const noexcept {
    return (since_its_epoch<std::chrono::steady_clock>() + wall_minus_monotonic).count();
  }

  // REQUIRES: the anchor has not outlived its ticks_a_life
  std::int64_t time_after(Moment moment, std::uint64_t ticks) const noexcept {
    const Uint128 passed = Uint128{ticks - moment.ticks} * rate.load(std::memory_order_relaxed);
    return moment.time_us + static_cast<std::int64_t>(passed >> kRateShift);
  }

  // Makes an anchor of the kernel's time, unless this thread was stopped while reading. If several
  // threads do so at once, one anchor stays.
  std::int64_t drop_anchor(Uint128 old_anchor) noexcept {
    const std::uint64_t before = read_ticks();
    const std::int64_t time_us = kernel_time_us();
    const Moment now{read_ticks(), time_us};  // a little behind: the time was read first
    if (now.ticks - before <= kReadTogetherTicks) {
      measure_rate(now);
      anchor.compare_exchange(old_anchor, now.bits());
    }
    return time_us;
  }

  void measure_rate(Moment now) noexcept {
    const Uint128 base_bits = baseline.load();
    const Moment base = Moment::from(base_bits);
    const std::int64_t span_us = now.time_us - base.time_us;
    const bool usable = base_bits != 0 && now.ticks > base.ticks;
    if (usable && span_us < kRateMeasuredOverUs) return;
    if (usable) {
      const Uint128 exact =
          (static_cast<Uint128>(span_us) << kRateShift) / (now.ticks - base.ticks);
      const auto lowered = static_cast<std::uint64_t>(exact - (exact >> 12));
      rate.store(lowered, std::memory_order_relaxed);
      const Uint128 ticks =
          Uint128{now.ticks - base.ticks} * kAnchorLifeUs / static_cast<Uint128>(span_us);
      ticks_a_life.store(static_cast<std::uint64_t>(ticks), std::memory_order_relaxed);
    }
    if (!usable || span_us > kRateRenewedAfterUs) baseline.compare_exchange(base_bits, now.bits());
  }
};

SystemClock::SystemClock() : state_(std::make_unique<State>()) {}

SystemClock::~SystemClock() = default;

Instant SystemClock::now() const noexcept {
  State& state = *state_;
  if (!state.uses_ticks) return instant_from_epoch_us(state.kernel_time_us());
  const Uint128 bits = state.anchor.load();
  const Moment anchor = Moment::from(bits);
  const std::uint64_t ticks = read_ticks();
  // Also true, since the difference wraps, if the counter went back.
  if (ticks - anchor.ticks >= state.ticks_a_life.load(std::memory_order_relaxed)) {
    return instant_from_epoch_us(state.drop_anchor(bits));
  }
  return instant_from_epoch_us(state.time_after(anchor, ticks));
}

}  // namespace weir
