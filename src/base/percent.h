// Percent-encoding of URLs.
//
// Thread rule: pure functions. Tested by src/rules/request/request_path_test.cc and
// src/rules/request_facts_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

constexpr std::optional<int> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// The byte for which "%41" at the front of `text` stands; nothing if it does not begin like this.
constexpr std::optional<char> percent_byte(std::string_view text) noexcept {
  if (text.size() < 3 || text.front() != '%') return std::nullopt;
  const auto high = hex_digit(text[1]);
  const auto low = hex_digit(text[2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high * 16 + *low);
}

// The text with each byte that `is_plain` refuses written like "%2F".
template <typename IsPlain>
std::string percent_encoded(std::string_view bytes, const IsPlain& is_plain) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      text += c;
    } else {
      text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return text;
}

// The decoded bytes. Nothing if a byte that `is_plain` refuses is not encoded.
template <typename IsPlain>
std::optional<std::string> percent_decoded(std::string_view text, const IsPlain& is_plain) {
  std::string bytes;
  while (!text.empty()) {
    const auto encoded = percent_byte(text);
    if (!encoded && !is_plain(text.front())) return std::nullopt;
    bytes += encoded.value_or(text.front());
    text.remove_prefix(encoded ? 3 : 1);
  }
  return bytes;
}

}  // namespace weir
