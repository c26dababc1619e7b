// KeyPart: a property of a request, as text: what keys are made of, and tiers, costs and
// the answers to denials.
//
// Thread rule: values. Tested by traffic_rules_test.cc.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"
#include "rules/request/request.h"

namespace weir {

struct KeyPart {
  enum class Property : std::uint8_t {
    kClient,
    kMethod,
    kHost,
    kPath,
    kCountry,
    kHeader,  // this and the following: the first of that name
    kQuery,
    kCookie,
    kClaim,  // of a token that has been verified
  };

  Property property = Property::kClient;
  std::string name{};         // of a header, parameter, cookie or claim
  std::uint8_t v4_bits = 32;  // of kClient: the network counts, not the address
  std::uint8_t v6_bits = 64;
};

// "client", "client/24/48", "method", "host", "path", "country", "header:NAME", "query:NAME",
// "cookie:NAME", "jwt:CLAIM".
std::optional<KeyPart> parse_key_part(std::string_view text);

// Memory for texts that are not in the request as they are.
using PartScratch = std::array<char, IpAddress::kTextMax + 5>;

// Empty if the request has no such property. A view of the request, or of `scratch`.
std::string_view part_text(const KeyPart& part, const Request& request, PartScratch& scratch);

}  // namespace weir
