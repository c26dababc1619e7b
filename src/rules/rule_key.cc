// The key under which a rule counts what it has matched.

#include <array>
#include <charconv>
#include <span>

#include "rules/rule_set.h"

namespace weir {
namespace {

using ClientText = std::array<char, IpAddress::kTextMax + 5>;  // and "/128"

// "192.0.2.7", or the network it is in: "2001:db8::/64". Empty if the client is unknown.
std::string_view client_text(const KeyPart& part, const std::optional<IpAddress>& client,
                             ClientText& text) {
  if (!client) return {};
  const unsigned bits = client->is_v4() ? part.v4_bits : part.v6_bits;
  const auto address =
      client->network(bits).write(std::span(text).first<IpAddress::kTextMax + 1>());
  if (bits == (client->is_v4() ? 32U : 128U)) return address;
  char* const slash = text.data() + address.size();
  *slash = '/';
  const char* const end = std::to_chars(slash + 1, text.data() + text.size(), bits).ptr;
  return {text.data(), end};
}

std::string_view part_text(const KeyPart& part, const Request& request, ClientText& client) {
  switch (part.property) {
    case KeyPart::Property::kClient: return client_text(part, request.client, client);
    case KeyPart::Property::kMethod: return request.method;
    case KeyPart::Property::kHost: return request.host;
    case KeyPart::Property::kPath: return request.path;
    case KeyPart::Property::kHeader: return request.header(part.header).value_or("");
  }
  return {};
}

void append_with_length(std::string& key, std::string_view part) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), part.size()).ptr;
  key.append(digits.data(), end).append(":").append(part);
}

}  // namespace

std::string_view key_of(const Rule& rule, const Request& request, std::string& scratch) {
  scratch.clear();
  ClientText client{};
  if (rule.key_parts.size() == 1) {
    return scratch.assign(part_text(rule.key_parts.front(), request, client));
  }
  for (const KeyPart& part : rule.key_parts) {
    append_with_length(scratch, part_text(part, request, client));
  }
  return scratch;
}

std::string_view key_of(const Rule& rule, const Descriptor& descriptor, std::string& scratch) {
  scratch.clear();
  const auto& entries = rule.descriptor->entries;
  if (rule.descriptor->open_entries() == 1) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].is_open()) return descriptor.entries[i].value;
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].is_open()) append_with_length(scratch, descriptor.entries[i].value);
  }
  return scratch;
}

}  // namespace weir
