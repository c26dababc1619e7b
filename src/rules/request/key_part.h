// KeyPart: a property of a request, as text: what keys are made of, and tiers, costs and
// the answers to denials.
//
// Thread rule: values. Tested by src/rules/traffic_rules_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "rules/request/header_values.h"
#include "rules/request/request.h"

namespace weir {

struct KeyPart {
  enum class Property : std::uint8_t {
    kClient,
    kMethod,
    kHost,
    kPath,
    kCountry,
    kHeader,
    kQuery,
    kCookie,
    kClaim,  // of a token that has been verified
  };

  Property property = Property::kClient;
  std::string name{};         // of a header, parameter, cookie or claim
  std::uint8_t v4_bits = 32;  // of kClient: the network counts, not the address
  std::uint8_t v6_bits = 64;

  // The client leaves it out if it likes.
  bool may_be_missing() const {
    using enum Property;
    return property == kHeader || property == kQuery || property == kCookie || property == kClaim;
  }
};

// "client", "client/24/48", "method", "host", "path", "country", "header:NAME", "query:NAME",
// "cookie:NAME", "jwt:CLAIM".
std::optional<KeyPart> parse_key_part(std::string_view text);

// "header:NAME"; "client" whatever the bits.
void append_name(const KeyPart& part, std::string& text);

// Memory for texts that are not in the request as they are.
using PartScratch = std::array<char, IpAddress::kTextMax + 5>;

// Calls `visit` with the value, or with each one of a header, parameter or cookie that the
// client has repeated. Views of the request, or of `scratch`.
template <typename Visit>
void for_each_value(const KeyPart& part, const Request& request, PartScratch& scratch, Visit visit);

// The one value, empty if the request has no such property. Nothing if it has several.
std::optional<std::string_view> one_value(const KeyPart& part, const Request& request,
                                          PartScratch& scratch);

// The same, and empty as well if there are several values. A client that repeats a header chooses
// none of them, so no further one is a key of its own.
inline std::string_view part_text(const KeyPart& part, const Request& request,
                                  PartScratch& scratch) {
  return one_value(part, request, scratch).value_or(std::string_view());
}

// "192.0.2.7", or the network it is in: "2001:db8::/64". Empty if the client is unknown.
std::string_view client_text(const KeyPart& part, const std::optional<IpAddress>& client,
                             PartScratch& text);

template <typename Visit>
void for_each_value(const KeyPart& part, const Request& request, PartScratch& scratch,
                    Visit visit) {
  using enum KeyPart::Property;
  const auto visit_named = [&](std::span<const NameValue> values) {
    for (const NameValue& value : values) {
      if (value.name == part.name) visit(value.value);
    }
  };
  switch (part.property) {
    case kClient: return visit(client_text(part, request.client, scratch));
    case kMethod: return visit(request.method);
    case kHost: return visit(request.host);
    case kPath: return visit(request.path);
    case kCountry: return visit(request.country);
    case kHeader: return for_each_header_value(request.headers, part.name, visit);
    case kQuery: return visit_named(request.parameters);
    case kCookie: return visit_named(request.cookies);
    case kClaim: {
      // Its issuer has signed it, so of a list the first is as good a name as any.
      const auto claim = std::ranges::find(request.claims, part.name, &NameValue::name);
      if (claim != request.claims.end()) visit(claim->value);
    }
  }
}

}  // namespace weir
