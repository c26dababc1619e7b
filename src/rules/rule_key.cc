// The key under which a rule counts what it has matched.

#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/length_prefix.h"
#include "rules/key_choices.h"
#include "rules/rule_set.h"
#include "rules/text/text_template.h"

namespace weir {
namespace {

using PartName = std::pair<std::string_view, KeyPart::Property>;

constexpr PartName kPlainParts[] = {{"client", KeyPart::Property::kClient},
                                    {"method", KeyPart::Property::kMethod},
                                    {"host", KeyPart::Property::kHost},
                                    {"path", KeyPart::Property::kPath},
                                    {"country", KeyPart::Property::kCountry}};
constexpr PartName kNamedParts[] = {{"header:", KeyPart::Property::kHeader},
                                    {"query:", KeyPart::Property::kQuery},
                                    {"cookie:", KeyPart::Property::kCookie},
                                    {"jwt:", KeyPart::Property::kClaim}};
constexpr std::string_view kNetworkPrefix = "client/";

// "client/24/48".
std::optional<KeyPart> parse_network_part(std::string_view text) {
  KeyPart part{.property = KeyPart::Property::kClient};
  const char* const end = text.data() + text.size();
  const auto v4 = std::from_chars(text.data() + kNetworkPrefix.size(), end, part.v4_bits);
  if (v4.ec != std::errc() || v4.ptr == end || *v4.ptr != '/') return std::nullopt;
  const auto v6 = std::from_chars(v4.ptr + 1, end, part.v6_bits);
  if (v6.ec != std::errc() || v6.ptr != end) return std::nullopt;
  if (part.v4_bits > 32 || part.v6_bits > 128) return std::nullopt;
  return part;
}

}  // namespace

std::string_view client_text(const KeyPart& part, const std::optional<IpAddress>& client,
                             PartScratch& text) {
  if (!client) return {};
  const bool is_v4 = client->is_v4();
  const unsigned bits = is_v4 ? part.v4_bits : part.v6_bits;
  const auto room = std::span(text).first<IpAddress::kTextMax + 1>();
  if (bits == (is_v4 ? 32U : 128U)) return client->write(room);
  const auto address = client->network(bits).write(room);
  char* const slash = text.data() + address.size();
  *slash = '/';
  const char* const end = std::to_chars(slash + 1, text.data() + text.size(), bits).ptr;
  return {text.data(), end};
}

std::optional<std::string_view> one_value(const KeyPart& part, const Request& request,
                                          PartScratch& scratch) {
  // What most keys are. A request has one.
  if (part.property == KeyPart::Property::kClient)
    return client_text(part, request.client, scratch);
  std::optional<std::string_view> text;
  bool differ = false;
  for_each_value(part, request, scratch, [&](std::string_view value) {
    differ = differ || (text && value != *text);
    text = value;
  });
  if (differ) return std::nullopt;
  return text.value_or(std::string_view());
}

std::optional<KeyPart> parse_key_part(std::string_view text) {
  for (const auto& [prefix, property] : kNamedParts) {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) continue;
    return KeyPart{.property = property, .name = std::string(text.substr(prefix.size()))};
  }
  for (const auto& [name, property] : kPlainParts) {
    if (text == name) return KeyPart{.property = property};
  }
  return text.starts_with(kNetworkPrefix) ? parse_network_part(text) : std::nullopt;
}

Repeats make_key(const Rule& rule, const Request& request, std::string& key) {
  key.clear();
  PartScratch client;
  Repeats repeats = Repeats::kNothing;
  for (const KeyPart& part : rule.key_parts) {
    const auto text = one_value(part, request, client);
    if (!text) repeats = Repeats::kSomething;
    append_part(rule.key_parts, text.value_or(std::string_view()), key);
  }
  return repeats;
}

std::string_view key_of(const Rule& rule, const Request& request, std::string& scratch) {
  make_key(rule, request, scratch);
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
