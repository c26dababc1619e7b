// Multiplication and division that lose no bit.
//
// Counts go up to 10^12 and windows up to 3.2 * 10^13 us, so their products need up to 85 bits.
// Nearly all need fewer than 63: those are divided in 64 bits, in a few ns; 128 bits would take ten
// times that. One multiplication tells which.
//
// Thread rule: pure functions. Tested by wide_math_test.cc.

#pragma once

#include <bit>
#include <cstdint>

namespace weir::algo {

// The one place that names the compilers' extension, so that -Wpedantic stays on.
__extension__ typedef __int128 Int128;

// REQUIRES: dividend >= 0, divisor > 0
template <typename Int>
constexpr Int ceil_div(Int dividend, Int divisor) noexcept {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

// For products that multiply() refuses. Out of line, since few quotas need it.
[[gnu::noinline, gnu::cold]] inline std::int64_t wide_mul_div_floor(std::int64_t value,
                                                                    std::int64_t factor,
                                                                    std::int64_t divisor) noexcept {
  return static_cast<std::int64_t>(Int128{value} * factor / divisor);
}
[[gnu::noinline, gnu::cold]] inline std::int64_t wide_mul_div_ceil(std::int64_t value,
                                                                   std::int64_t factor,
                                                                   std::int64_t divisor) noexcept {
  return static_cast<std::int64_t>(ceil_div<Int128>(Int128{value} * factor, divisor));
}

// Multiplies if the product needs 63 bits at most; returns whether it does.
// REQUIRES: value, factor >= 0
inline bool multiply(std::int64_t value, std::int64_t factor, std::int64_t* product) noexcept {
#ifdef __wasm__
  // Only the widths of the factors are compared: clang would make a check for overflow a product of
  // 128 bits. This refuses some products of 63 bits, which only take longer.
  const auto left = static_cast<std::uint64_t>(value);
  const auto right = static_cast<std::uint64_t>(factor);
  *product = static_cast<std::int64_t>(left * right);
  return std::countl_zero(left | 1) + std::countl_zero(right | 1) > 64;
#else
  return !__builtin_mul_overflow(value, factor, product);
#endif
}

// value * factor / divisor, rounded down.
// REQUIRES: value, factor >= 0; divisor > 0; the result fits
inline std::int64_t mul_div_floor(std::int64_t value, std::int64_t factor,
                                  std::int64_t divisor) noexcept {
  std::int64_t product = 0;
  if (multiply(value, factor, &product)) return product / divisor;
  return wide_mul_div_floor(value, factor, divisor);
}

// value * factor / divisor, rounded up.
// REQUIRES: as for mul_div_floor
inline std::int64_t mul_div_ceil(std::int64_t value, std::int64_t factor,
                                 std::int64_t divisor) noexcept {
  std::int64_t product = 0;
  if (multiply(value, factor, &product)) return ceil_div(product, divisor);
  return wide_mul_div_ceil(value, factor, divisor);
}

}  // namespace weir::algo
