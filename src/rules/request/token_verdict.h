// TokenVerdict: whether a request's token counts, and if not, why.
//
// Thread rule: constants. Tested by token_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class TokenVerdict : std::uint8_t {
  kUnread,  // no rule looks at tokens
  kCounts,
  kAbsent,
  kMalformed,
  kTooLong,
  kAlgorithm,
  kCritical,
  kSignature,
  kDates,
  kExpired,
  kTooEarly,
};

// Why it does not count, in words.
constexpr std::string_view token_fault(TokenVerdict verdict) {
  constexpr std::array<std::string_view, 11> kFaults = {
      "no rule looks at it",
      "",
      "the request has none",
      "it is no JSON Web Token",
      "it is longer than a token may be",
      "it is signed by another algorithm than the key is for",
      "it has a 'crit' header, which asks for what Weir does not know",
      "its signature does not fit the key",
      "its 'exp' or 'nbf' is no number",
      "it has expired",
      "it does not hold yet"};
  return kFaults[static_cast<std::size_t>(verdict)];
}

}  // namespace weir
