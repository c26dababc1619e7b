// ASCII letters, whatever the locale says.
//
// Thread rule: pure functions. Tested by ascii_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Eight characters with their letters in lower case.
constexpr std::uint64_t ascii_lower_word(std::uint64_t word) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t low = word & kOnes * 0x7f;
  const std::uint64_t capitals = (low + kOnes * (0x80 - 'A')) & ~(low + kOnes * (0x7f - 'Z'));
  return word | (capitals & ~word & kOnes * 0x80) >> 2;
}

inline bool equal_ignoring_case(std::string_view one, std::string_view other) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto are_equal_at = [&](std::size_t at) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, one.data() + at, kWord);
    std::memcpy(&b, other.data() + at, kWord);
    return a == b || ascii_lower_word(a) == ascii_lower_word(b);
  };
  if (one.size() != other.size()) return false;
  if (one.size() < kWord) {
    return std::equal(one.begin(), one.end(), other.begin(),
                      [](char a, char b) { return a == b || ascii_lower(a) == ascii_lower(b); });
  }
  for (std::size_t at = 0; at + kWord < one.size(); at += kWord) {
    if (!are_equal_at(at)) return false;
  }
  return are_equal_at(one.size() - kWord);
}

inline std::string to_ascii_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  return lower;
}

// Without the spaces and tabs around it.
constexpr std::string_view trim_blanks(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// What stands before the first `separator`, which is taken from the front of `text` with it.
constexpr std::string_view take_until(std::string_view& text, char separator) noexcept {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

}  // namespace weir
