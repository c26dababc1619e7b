// ASCII letters, whatever the locale says.
//
// Thread rule: pure functions. Tested by ascii_test.cc.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace weir {

constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equal_ignoring_case(std::string_view one, std::string_view other) noexcept {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    // Mostly they are written alike.
                    [](char a, char b) { return a == b || ascii_lower(a) == ascii_lower(b); });
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
