#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/holding_store.h"

namespace weir {

std::string HoldToken::to_string() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15];
  }
  return text;
}

std::optional<HoldToken> HoldToken::parse(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  HoldToken token;
  for (std::uint64_t* const half : {&token.high, &token.low}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + 16, *half, 16);
    if (error != std::errc() || end != text.data() + 16) return std::nullopt;
    text.remove_prefix(16);
  }
  return token;
}

}  // namespace weir
