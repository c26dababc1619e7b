// Decimal numbers as text, and back.
//
// Eight digits are written at a time, because a division costs more than all the rest.
// std::to_chars writes two digits at a time, is not inlined, and checks for room.
//
// Thread rule: pure. Tested by decimal_test.cc.

#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir {

inline constexpr std::size_t kDecimalMax = 20;  // -9223372036854775808

// The eight digits of a number below 10^8, a byte each, the first digit in the lowest byte. Splits
// it into two halves, these into four pairs, and the pairs into digits.
constexpr std::uint64_t eight_digits(std::uint64_t number) {
  std::uint64_t digits = number / 10'000 | number % 10'000 << 32;
  const std::uint64_t hundreds = (digits * 10'486 >> 20) & 0x0000'007f'0000'007f;
  digits = hundreds | (digits - 100 * hundreds) << 16;
  const std::uint64_t tens = (digits * 103 >> 10) & 0x000f'000f'000f'000f;
  return tens | (digits - 10 * tens) << 8;
}

// Writes a number below 10^8 as eight digits. Returns the end.
inline char* write_eight_digits(char* at, std::uint64_t number) {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t text = eight_digits(number) | 0x3030'3030'3030'3030;
  std::memcpy(at, &text, sizeof text);
  return at + sizeof text;
}

// Writes at `at`, where there must be room for kDecimalMax bytes. Returns the end.
inline char* write_decimal(char* at, std::integral auto number) {
  constexpr std::uint64_t kBound = 100'000'000;
  auto rest = static_cast<std::uint64_t>(number);
  if constexpr (std::is_signed_v<decltype(number)>) {
    if (number < 0) {
      *at++ = '-';
      rest = 0 - rest;  // right also for the least number, which has no opposite
    }
  }
  if (rest < 10) {
    *at = static_cast<char>('0' + rest);
    return at + 1;
  }
  if (rest >= kBound) return write_eight_digits(write_decimal(at, rest / kBound), rest % kBound);
  const std::uint64_t digits = eight_digits(rest);
  const int zeros = std::countr_zero(digits | std::uint64_t{1} << 56) / 8;
  const std::uint64_t text = (digits | 0x3030'3030'3030'3030) >> 8 * zeros;
  std::memcpy(at, &text, sizeof text);
  return at + sizeof text - zeros;
}

inline void append_decimal(std::string& text, std::integral auto number) {
  std::array<char, kDecimalMax> digits;
  text.append(digits.data(), write_decimal(digits.data(), number));
}

// Reads a number: the whole text must be digits, after a '-' if the type has a sign.
template <std::integral Number>
std::optional<Number> read_decimal(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// Reads a port. Refuses a leading zero: is 010 ten or eight?
inline std::optional<std::uint16_t> read_port(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return read_decimal<std::uint16_t>(text);
}

}  // namespace weir
