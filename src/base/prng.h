// Prng: SplitMix64 (Steele et al. 2014), random numbers from a seed. Not for secrets.
//
// <random> will not do: its distributions differ between C++ libraries, and a seed on a command
// line must mean the same numbers everywhere. Prng has eight bytes of state and takes two
// nanoseconds a number, so that picking keys never limits a load run.
//
// Thread rule: one owner. Tested by prng_test.cc.

#pragma once

#include <cstdint>

namespace weir {

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
  }

  // Uniform in [0, bound), with a bias of at most bound / 2^32. REQUIRES: bound > 0
  constexpr std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  // Uniform in [0, 1), in steps of 2^-53.
  constexpr double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace weir
