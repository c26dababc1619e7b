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

// Whether two texts begin with the same sizeof(Word) bytes.
template <typename Word>
bool starts_equal_ignoring_case(const char* one, const char* other) noexcept {
  Word a = 0;
  Word b = 0;
  std::memcpy(&a, one, sizeof a);
  std::memcpy(&b, other, sizeof b);
  constexpr auto kCase = static_cast<Word>(0x2020'2020'2020'2020);  // the bit of the case
  return a == b || (((a ^ b) & ~kCase) == 0 && ascii_lower_word(a) == ascii_lower_word(b));
}

// Whether two texts of `size` bytes are equal. Compares words; the last two may overlap.
inline bool equal_words_ignoring_case(const char* one, const char* other,
                                      std::size_t size) noexcept {
  using Word = std::uint64_t;
  using Half = std::uint32_t;
  if (size < sizeof(Half)) {
    return std::equal(one, one + size, other,
                      [](char a, char b) { return ascii_lower(a) == ascii_lower(b); });
  }
  if (size < sizeof(Word)) {
    const std::size_t last = size - sizeof(Half);
    return starts_equal_ignoring_case<Half>(one, other) &&
           starts_equal_ignoring_case<Half>(one + last, other + last);
  }
  // Similar names differ at their ends: X-Forwarded-For, X-Forwarded-Uri.
  const std::size_t last = size - sizeof(Word);
  if (!starts_equal_ignoring_case<Word>(one + last, other + last)) return false;
  for (std::size_t at = 0; at < last; at += sizeof(Word)) {
    if (!starts_equal_ignoring_case<Word>(one + at, other + at)) return false;
  }
  return true;
}

// Inline, because most compared texts differ in length: the caller sees that without a call.
[[gnu::always_inline]] inline bool equal_ignoring_case(std::string_view one,
                                                       std::string_view other) noexcept {
  return one.size() == other.size() &&
         equal_words_ignoring_case(one.data(), other.data(), one.size());
}

inline std::string to_ascii_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  return lower;
}

// The text without the spaces and tabs around it.
constexpr std::string_view trim_blanks(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  if (text.empty() || (text.front() > ' ' && text.back() > ' ')) return text;  // most texts
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the text before the first `separator` from the front of `text`, and the separator, too.
constexpr std::string_view take_until(std::string_view& text, char separator) noexcept {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

}  // namespace weir
