#include "rules/request/plain_value.h"

#include <cstddef>
#include <cstdint>

#include "base/byte_search.h"

namespace weir {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t size = 0;  // in bytes
};

// Overlong forms count as the character that they encode. REQUIRES: text is not empty
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const Character latin{.code = byte(0), .size = 1};
  if (latin.code < 0xC2 || latin.code > 0xF4) return latin;
  const std::size_t size = latin.code < 0xE0 ? 2 : latin.code < 0xF0 ? 3 : 4;
  if (text.size() < size) return latin;
  char32_t code = latin.code & (0x7FU >> size);
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xC0U) != 0x80) return latin;
    code = code << 6U | (byte(at) & 0x3FU);
  }
  return {.code = code, .size = size};
}

// The characters that Python, JavaScript, .NET, Go or Rust trim.
bool is_wide_space(char32_t code) {
  constexpr std::u32string_view kSpaces = U"\x85\xA0\x1680\x2028\x2029\x202F\x205F\x3000\xFEFF";
  return (code >= 0x2000 && code <= 0x200A) || kSpaces.find(code) != kSpaces.npos;
}

bool is_plain_text(std::string_view text) {
  constexpr std::u32string_view kSeparators = U" \t,;=";
  bool was_separator = true;
  bool was_space = false;
  while (!text.empty()) {
    const Character next = first_character(text);
    const bool is_space = is_wide_space(next.code);
    const bool is_separator = kSeparators.find(next.code) != kSeparators.npos;
    if ((next.code < ' ' && next.code != '\t') || next.code == 0x7F) return false;
    if ((was_separator && is_space) || (was_space && is_separator)) return false;
    was_separator = is_separator;
    was_space = is_space;
    text.remove_prefix(next.size);
  }
  return !was_space;
}

}  // namespace

bool is_plain_value(std::string_view value) {
  const bool is_odd =
      has_byte(value, [](ByteGroup bytes) { return (bytes < ' ') | (bytes >= 0x7F); });
  return !is_odd || is_plain_text(value);
}

}  // namespace weir
