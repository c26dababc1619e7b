// Atomic128 of a program with one thread: sixteen bytes of plain memory. Takes the place of
// src/base/atomic128.h, as WebAssembly has no instruction that exchanges sixteen bytes.
//
// Nor has it one that shifts or multiplies them. For each of those clang calls a function of its
// runtime, a dozen for a decision; Uint128 is two words instead, and its operators are inline.
//
// Thread rule: one thread. Tested by wasm/differential_test.mjs.

#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace weir {

class Uint128 {
 public:
  constexpr Uint128() = default;
  template <typename Value>
    requires std::integral<Value> || std::is_enum_v<Value>
  constexpr Uint128(Value value) : low_(static_cast<std::uint64_t>(value)) {}  // NOLINT: as of int

  template <std::integral Value>
  explicit constexpr operator Value() const {
    return static_cast<Value>(low_);
  }
  constexpr std::uint64_t high() const { return high_; }

  friend constexpr bool operator==(const Uint128&, const Uint128&) = default;
  friend constexpr Uint128 operator|(Uint128 a, Uint128 b) {
    return {a.high_ | b.high_, a.low_ | b.low_};
  }
  friend constexpr Uint128 operator&(Uint128 a, Uint128 b) {
    return {a.high_ & b.high_, a.low_ & b.low_};
  }
  friend constexpr Uint128 operator~(Uint128 a) { return {~a.high_, ~a.low_}; }
  friend constexpr Uint128 operator+(Uint128 a, Uint128 b) {
    const std::uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low};
  }
  friend constexpr Uint128 operator-(Uint128 a, Uint128 b) {
    return {a.high_ - b.high_ - (a.low_ < b.low_ ? 1 : 0), a.low_ - b.low_};
  }
  // REQUIRES: 0 <= bits < 128. Bits that one word hands to the other move in two steps, since a
  // shift by 64 is none.
  friend constexpr Uint128 operator<<(Uint128 a, int bits) {
    if (bits >= 64) return {a.low_ << (bits - 64), 0};
    return {a.high_ << bits | a.low_ >> 1 >> (63 - bits), a.low_ << bits};
  }
  friend constexpr Uint128 operator>>(Uint128 a, int bits) {
    if (bits >= 64) return {0, a.high_ >> (bits - 64)};
    return {a.high_ >> bits, a.low_ >> bits | a.high_ << 1 << (63 - bits)};
  }
  // REQUIRES: the first factor is below 2^64
  friend constexpr Uint128 operator*(Uint128 a, std::uint32_t factor) {
    const std::uint64_t below = (a.low_ & UINT32_MAX) * factor;
    const std::uint64_t above = (a.low_ >> 32) * factor + (below >> 32);
    return {above >> 32, above << 32 | (below & UINT32_MAX)};
  }

 private:
  constexpr Uint128(std::uint64_t high, std::uint64_t low) : low_(low), high_(high) {}

  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

inline constexpr bool kOneThread = true;

class alignas(16) Atomic128 {
 public:
  Uint128 load() const noexcept { return value_; }
  Uint128 load_halves() const noexcept { return value_; }
  std::uint64_t load_high() const noexcept { return value_.high(); }
  static unsigned find(const Atomic128* eight, std::uint32_t upper) noexcept {
    unsigned found = 0;
#pragma clang loop unroll(disable)
    for (int at = 0; at < 8; ++at) {
      if (eight[at].load_high() >> 32 == upper) found |= 3U << 2 * at;
    }
    return found;
  }
  // REQUIRES: the value is the expected one, as nobody else can have changed it
  bool compare_exchange(Uint128, Uint128 desired) noexcept {
    value_ = desired;
    return true;
  }

 private:
  Uint128 value_;
};

}  // namespace weir
