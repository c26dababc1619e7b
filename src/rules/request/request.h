// Request: the properties of a request that may be limited, from whichever door it came.
//
// A door fills in what it knows: forward-auth and a gateway the HTTP request, Envoy's service a
// Descriptor. The rule set adds facts that follow (request_facts.h). Rules read nothing else.
//
// Thread rule: values that refer to texts elsewhere, normally a door's input buffer.
// Tested by src/rules/traffic_rules_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/ip_address.h"
#include "base/name_value.h"

namespace weir {

// TokenVerdict: whether a request's token is valid, and if not, why.
//
// Thread rule: constants. Tested by token_test.cc.
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

// Why the token is not valid, in words.
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

struct Request {
  std::string_view method{};
  std::string_view host{};  // in lower case, without the port
  std::string_view path{};  // the first reading: rules/request/request_path.h
  std::span<const std::string_view> other_paths{};  // the other readings
  std::string_view query{};
  std::span<const NameValue> headers{};  // in the order sent; names in any case
  // The key for all rules, instead of the key that each rule makes.
  std::optional<std::string_view> named_key{};
  std::optional<std::string_view> named_tier{};
  std::optional<IpAddress> client{};  // found as rules/request/client_address.h says

  // The rule set adds these, as far as its rules need them.
  std::string_view folder{};                // the path, with a slash at its end
  std::string_view folder_in_small{};       // folder in small letters
  std::span<const NameValue> parameters{};  // of the query, decoded
  std::span<const NameValue> cookies{};
  std::span<const NameValue> claims{};  // of a verified token
  TokenVerdict token = TokenVerdict::kUnread;
  std::span<const NameValue> unverified_claims{};
  std::string_view country{};  // two letters; empty: unknown

  // The first header with that name. Ignores case.
  std::optional<std::string_view> header(std::string_view name) const {
    return find_header(headers, name);
  }
};

// A call of Envoy's rate limit service: a domain and entries, outermost first.
struct Descriptor {
  static constexpr std::size_t kEntriesMax = 32;

  std::string_view domain{};
  std::span<const NameValue> entries{};
};

}  // namespace weir
