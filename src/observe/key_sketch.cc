#include "observe/key_sketch.h"

#include <algorithm>
#include <cmath>

namespace weir {

// As with the seconds of Traffic: a reader must not see the old registers under the new number. The
// fence pairs with the one in merge_into(), the release with the acquire there.
void KeySketch::Period::begin(std::int64_t new_number, std::uint64_t hash) noexcept {
  number.store(kNoPeriod, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (auto& one : registers) one.store(0, std::memory_order_relaxed);
  number.store(new_number, std::memory_order_release);
  add(hash);
}

void KeySketch::merge_into(Registers& registers, Instant now) const noexcept {
  const std::int64_t newest = period_of(now);
  for (const Period& period : periods_) {
    const std::int64_t number = period.number.load(std::memory_order_acquire);
    if (number != newest && number != newest - 1) continue;
    Registers read;
    for (std::size_t i = 0; i < kRegisters; ++i) {
      read[i] = period.registers[i].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (period.number.load(std::memory_order_relaxed) != number) continue;
    std::ranges::transform(read, registers, registers.begin(),
                           [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); });
  }
}

std::uint64_t KeySketch::estimate(const Registers& registers) {
  constexpr double kCount = kRegisters;
  constexpr double kBias = 0.7213 / (1 + 1.079 / kCount);  // the paper's, for 128 and more
  double sum = 0;
  for (const std::uint8_t rank : registers) sum += std::ldexp(1.0, -int{rank});
  const double raw = kBias * kCount * kCount / sum;
  const auto empty = static_cast<double>(std::ranges::count(registers, 0));
  const bool are_few = raw <= 2.5 * kCount && empty > 0;
  return static_cast<std::uint64_t>(
      std::llround(are_few ? kCount * std::log(kCount / empty) : raw));
}

}  // namespace weir
