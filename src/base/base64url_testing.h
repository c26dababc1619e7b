// Writes base64url, which Weir itself only reads.
//
// Thread rule: pure. Tested by base64url_test.cc.

#pragma once

#include <string>
#include <string_view>

namespace weir {

inline std::string base64url(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string encoded;
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6;) encoded += kDigits[bits >> (count -= 6) & 63];
  }
  if (count > 0) encoded += kDigits[bits << (6 - count) & 63];
  return encoded;
}

}  // namespace weir
