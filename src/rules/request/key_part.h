// KeyPart: a property of a request, as text. Keys, tiers, costs and answers to denials are made of
// such properties.
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
    kClaim,  // of a verified token
  };

  Property property = Property::kClient;
  std::string name{};         // of a header, parameter, cookie or claim
  std::uint8_t v4_bits = 32;  // of kClient: below 32, the network counts, not the address
  std::uint8_t v6_bits = 64;

  // Whether the client can leave it out.
  bool may_be_missing() const {
    using enum Property;
    return property == kHeader || property == kQuery || property == kCookie || property == kClaim;
  }
};

// "client", "client/24/48", "method", "host", "path", "country", "header:NAME", "query:NAME",
// "cookie:NAME", "jwt:CLAIM".
std::optional<KeyPart> parse_key_part(std::string_view text);

// Appends "header:NAME", or "client" whatever the bits.
void append_name(const KeyPart& part, std::string& text);

// Memory for texts that the request does not contain as they are.
using PartScratch = std::array<char, IpAddress::kTextMax + 5>;

// Calls `visit` with the value, or with each value of a header, parameter or cookie that the client
// repeats. The values view the request, or `scratch`.
template <typename Visit>
void for_each_value(const KeyPart& part, const Request& request, PartScratch& scratch, Visit visit);

// The only value; empty if the request lacks the property. Nothing if there are several.
std::optional<std::string_view> one_value(const KeyPart& part, const Request& request,
                                          PartScratch& scratch);

// The only value; empty if there is none, or several. A client that repeats a header gets none of
// the values, so that a further value makes no new key.
inline std::string_view part_text(const KeyPart& part, const Request& request,
                                  PartScratch& scratch) {
  return one_value(part, request, scratch).value_or(std::string_view());
}

// "192.0.2.7", or its network: "2001:db8::/64". Empty if the client is unknown.
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
      // The issuer has signed the claim, so of a list the first value is as good a name as any.
      const auto claim = std::ranges::find(request.claims, part.name, &NameValue::name);
      if (claim != request.claims.end()) visit(claim->value);
    }
  }
}

}  // namespace weir
