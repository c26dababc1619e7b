// KeySketch: estimates how many different keys came lately, in memory that does not grow.
//
// Each of kRegisters registers keeps the rarest pattern among its hashes (HyperLogLog, Flajolet et
// al. 2007). From them the number follows with a standard error of 1.04 / sqrt(kRegisters) = 9 %.
// For small numbers it follows from the empty registers, to about 6 %. A reader merges the sketches
// of several cores register by register, so a key that all cores see counts once.
//
// The sketch covers this minute and the one before it; each has registers of its own.
//
// Thread rule: add() on the owning core; merge_into() from any thread. At the beginning of a minute
// a reader may miss its first keys.
// Tested by key_sketch_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weir/time.h"

namespace weir {

class KeySketch {
 public:
  static constexpr std::size_t kRegisters = 128;
  static constexpr Duration kPeriod = std::chrono::minutes(1);
  using Registers = std::array<std::uint8_t, kRegisters>;

  // `hash`: the key's; all its bits are used.
  void add(std::uint64_t hash, Instant now) noexcept;

  // Raises each register of `registers` that is below this sketch's.
  void merge_into(Registers& registers, Instant now) const noexcept;

  static std::uint64_t estimate(const Registers& registers);

 private:
  static constexpr std::int64_t kNoPeriod = std::numeric_limits<std::int64_t>::min();

  struct Period {
    std::atomic<std::int64_t> number{0};  // of the minute, since 1970; 0: no key yet
    std::array<std::atomic<std::uint8_t>, kRegisters> registers{};

    void add(std::uint64_t hash) noexcept {
      auto& one = registers[hash % kRegisters];
      // The bits that chose the register are set, so that they do not look rare.
      const auto rank = static_cast<std::uint8_t>(std::countl_zero(hash | (kRegisters - 1)) + 1);
      // Only the owning core writes.
      if (rank > one.load(std::memory_order_relaxed)) one.store(rank, std::memory_order_relaxed);
    }
    // Begins the minute with its first key.
    void begin(std::int64_t new_number, std::uint64_t hash) noexcept;
  };

  // The two minutes around 1970 count as one: no key comes in them, and rounding down costs time.
  static std::int64_t period_of(Instant instant) noexcept {
    return instant.time_since_epoch() / kPeriod;
  }

  std::array<Period, 2> periods_;
};

// In the header: every answer of a rule comes here, and a call would cost as much as the rest.
inline void KeySketch::add(std::uint64_t hash, Instant now) noexcept {
  const std::int64_t number = period_of(now);
  Period& period = periods_[static_cast<std::uint64_t>(number) % 2];
  if (period.number.load(std::memory_order_relaxed) != number) return period.begin(number, hash);
  period.add(hash);
}

}  // namespace weir
