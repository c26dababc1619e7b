#include "base/base64url.h"

#include <array>
#include <cstdint>

namespace weir {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

char* put_base64url(char* at, std::uint64_t bits) noexcept {
  *at++ = kDigits[bits >> 60];
  for (int shift = 54; shift >= 0; shift -= 6) *at++ = kDigits[(bits >> shift) & 63];
  return at;
}

bool decode_base64url(std::string_view encoded, std::string& text) {
  text.clear();
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : encoded) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNoDigit) return false;
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    text += static_cast<char>(bits >> count & 0xff);
  }
  return count < 6 && (bits & ((1U << count) - 1)) == 0;
}

}  // namespace weir
