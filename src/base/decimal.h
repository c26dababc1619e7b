// Decimal numbers as text, and back.
//
// They are written from the back and two digits at a time, because a division costs more than
// all the rest. std::to_chars does the same behind a call, and asks whether there is room.
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

// "00", "01" ... "99", one after the other.
inline constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// By how many digits a number has at least: the least number that has one more. 0 has one.
inline constexpr auto kPowersOfTen = [] {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (auto& each : powers) {
    each = power;
    power *= 10;
  }
  powers[0] = 0;
  return powers;
}();

constexpr std::size_t decimal_digits(std::uint64_t number) {
  // 1233 / 4096 is a little more than the logarithm of 2: right, or one too few.
  const auto least = static_cast<std::size_t>(std::bit_width(number | 1)) * 1233 >> 12;
  return least + (number >= kPowersOfTen[least] ? 1 : 0);
}

// Writes at `at`, where there is room for it, and returns the end of what is written.
inline char* write_decimal(char* at, std::integral auto number) {
  auto rest = static_cast<std::uint64_t>(number);
  if constexpr (std::is_signed_v<decltype(number)>) {
    if (number < 0) {
      *at++ = '-';
      rest = 0 - rest;  // right for the least number as well, whose opposite there is not
    }
  }
  char* const end = at + decimal_digits(rest);
  char* to = end;
  for (; rest >= 100; rest /= 100) {
    to -= 2;
    std::memcpy(to, &kDigitPairs[rest % 100 * 2], 2);
  }
  if (rest >= 10) {
    std::memcpy(to - 2, &kDigitPairs[rest * 2], 2);
  } else {
    to[-1] = static_cast<char>('0' + rest);
  }
  return end;
}

inline void append_decimal(std::string& text, std::integral auto number) {
  std::array<char, kDecimalMax> digits;
  text.append(digits.data(), write_decimal(digits.data(), number));
}

// The number that the whole text is: digits, behind a '-' if the type has a sign.
template <std::integral Number>
std::optional<Number> read_decimal(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// A port, without a zero in front: is 010 ten or eight?
inline std::optional<std::uint16_t> read_port(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return read_decimal<std::uint16_t>(text);
}

}  // namespace weir
