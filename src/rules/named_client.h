// The client that a caller names by its address as the key of a rule, in a check, a question or a
// reset. Where the rule counts clients and nothing else, that means the counter of the client's
// requests: "2001:db8::7" counts under "2001:db8::/64".
//
// Thread rule: pure. Tested by tests/scenarios/requests.yaml.

#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/ip_address.h"
#include "rules/request/key_part.h"
#include "rules/rule.h"

namespace weir {

// Whether the key may be an address whose client counts under another text. Most keys are not: an
// address of IPv4 is its own text, unless the rule counts networks. An address of IPv6 has a colon
// behind at most four digits. All checks by rule ask this, so it looks at four bytes at once.
inline bool may_name_client(const Rule& rule, std::string_view key) {
  if (rule.key_parts.size() != 1) return false;
  const KeyPart& part = rule.key_parts[0];
  if (part.property != KeyPart::Property::kClient) return false;
  if (key.size() < 5 || key[4] == ':' || part.v4_bits < 32) return true;
  constexpr std::uint32_t kEach = 0x01010101;
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, key.data(), sizeof(bytes));
  bytes ^= kEach * ':';
  return ((bytes - kEach) & ~bytes & (kEach << 7)) != 0;
}

struct NamedClient {
  std::optional<IpAddress> client{};  // nothing: the key names none, and counts as it is
  std::string_view counted;           // the key's own text, or of the scratch
};
inline NamedClient named_client(const Rule& rule, std::string_view key, PartScratch& scratch) {
  if (!may_name_client(rule, key)) return {.counted = key};
  const auto client = IpAddress::parse(key);
  if (!client) return {.counted = key};
  return {.client = client, .counted = client_text(rule.key_parts[0], client, scratch)};
}

}  // namespace weir
