// Compares a peer's text with a secret.
//
// Thread rule: pure. Tested by secret_test.cc.

#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// Looks at every byte of `given`, even after a difference, so that the time tells only the length
// of what the peer sent. Nothing equals an empty secret.
inline bool equals_secret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned char>(given[i] ^ expected);
  }
  return difference == 0 && !secret.empty();
}

}  // namespace weir
