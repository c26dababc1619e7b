// KeySketch: about how many different keys came lately, in memory that does not grow.
//
// Each of kRegisters registers keeps the rarest pattern among its hashes (HyperLogLog, Flajolet
// et al. 2007), which gives their number with a standard error of 1.04 / sqrt(kRegisters) = 9 %.
// The registers that are still empty give a small number to about 6 %. A reader merges the
// sketches of several cores register by register, so a key that all cores see counts once.
//
// The sketch covers this minute and the one before it; each has registers of its own.
//
// Thread rule: add() on the owning core; merge_into() from any thread. A reader at the
// beginning of a minute may miss what came in its first moments.
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

  // `hash`: of the key; all its bits count.
  void add(std::uint64_t hash, Instant now) noexcept;

  // Raises those of `registers` that are below ours.
  void merge_into(Registers& registers, Instant now) const noexcept;

  static std::uint64_t estimate(const Registers& registers);

 private:
  static constexpr std::int64_t kNoPeriod = std::numeric_limits<std::int64_t>::min();

  struct Period {
    std::atomic<std::int64_t> number{0};  // nothing came in that minute, of 1970
    std::array<std::atomic<std::uint8_t>, kRegisters> registers{};

    void add(std::uint64_t hash) noexcept {
      auto& one = registers[hash % kRegisters];
      // The bits that chose the register are set, so that they cannot look rare.
      const auto rank = static_cast<std::uint8_t>(std::countl_zero(hash | (kRegisters - 1)) + 1);
      // Only the owning core writes.
      if (rank > one.load(std::memory_order_relaxed)) one.store(rank, std::memory_order_relaxed);
    }
    // With its first key.
    void begin(std::int64_t new_number, std::uint64_t hash) noexcept;
  };

  // The two minutes around 1970 are one: nothing comes in them, and rounding down costs.
  static std::int64_t period_of(Instant instant) noexcept {
    return instant.time_since_epoch() / kPeriod;
  }

  std::array<Period, 2> periods_;
};

// In the header, as each answer of a rule comes here, and a call would cost as much as the rest.
inline void KeySketch::add(std::uint64_t hash, Instant now) noexcept {
  const std::int64_t number = period_of(now);
  Period& period = periods_[static_cast<std::uint64_t>(number) % 2];
  if (period.number.load(std::memory_order_relaxed) != number) return period.begin(number, hash);
  period.add(hash);
}

}  // namespace weir
