#include "rules/rule_key.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/decimal.h"
#include "base/length_prefix.h"

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

// Stands before an address that stands in for a part, and before a value that begins like it.
constexpr std::string_view kByClient = "client ";
constexpr std::string_view kMark = "client =";

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

// Two texts, since nothing holds them together yet.
struct Words {
  std::string_view begin;
  std::string_view rest;
};

// What a key says of a value that may be missing.
Words words_of(const Rule& rule, std::string_view value, const Request& request,
               PartScratch& scratch) {
  if (!value.empty()) return {.begin = value.starts_with(kByClient) ? kMark : "", .rest = value};
  if (rule.missing == MissingPart::kShared) return {};
  const auto client = client_text(KeyPart(), request.client, scratch);
  return {.begin = client.empty() ? "" : kByClient, .rest = client};
}

// The key of a text that somebody gives instead of the rule's parts, and that may be missing, too.
void make_named_key(const Rule& rule, const Request& request, std::string& key) {
  PartScratch scratch{};
  const Words words = words_of(rule, *request.named_key, request, scratch);
  key.assign(words.begin).append(words.rest);
}

void append_named(const KeyPart& part, std::string_view value, std::string& key) {
  if (value.empty()) return;
  append_name(part, key);
  key.append(" ").append(value);
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

void append_name(const KeyPart& part, std::string& text) {
  const auto is_it = [&](const PartName& name) { return name.second == part.property; };
  const auto* const plain = std::ranges::find_if(kPlainParts, is_it);
  if (plain != std::end(kPlainParts)) {
    text += plain->first;
  } else {
    text.append(std::ranges::find_if(kNamedParts, is_it)->first).append(part.name);
  }
}

// Where there are several parts, each has its length.
void append_value(const Rule& rule, const KeyPart& part, std::string_view value,
                  const Request& request, std::string& key) {
  if (rule.key_form == Rule::KeyForm::kFirst) return append_named(part, value, key);
  if (rule.key_parts.size() == 1 && !part.may_be_missing()) {
    key.append(value);
    return;
  }
  PartScratch scratch{};
  const Words words = part.may_be_missing() ? words_of(rule, value, request, scratch)
                                            : Words{.begin = {}, .rest = value};
  if (rule.key_parts.size() > 1) {
    append_decimal(key, words.begin.size() + words.rest.size());
    key += ':';
  }
  key.append(words.begin).append(words.rest);
}

Repeats make_key(const Rule& rule, const Request& request, std::string& key) {
  if (request.named_key) {
    make_named_key(rule, request, key);
    return Repeats::kNothing;
  }
  key.clear();
  PartScratch scratch;
  Repeats repeats = Repeats::kNothing;
  for (const KeyPart& part : rule.key_parts) {
    const auto text = one_value(part, request, scratch);
    if (!text) repeats = Repeats::kSomething;
    append_value(rule, part, text.value_or(std::string_view()), request, key);
    if (rule.key_form == Rule::KeyForm::kFirst && !key.empty()) break;
  }
  return repeats;
}

PartState state_of(const KeyPart& part, const Request& request) {
  PartScratch scratch{};
  const auto text = one_value(part, request, scratch);
  if (!text) return PartState::kRepeated;
  return text->empty() ? PartState::kMissing : PartState::kThere;
}

// A client that repeats a header could as well leave it out, but its origin may take one of the
// values, and that may be on the deny list.
bool skips(const Rule& rule, const Request& request) {
  if (rule.missing != MissingPart::kSkip) return false;
  if (request.named_key) return request.named_key->empty();
  bool lacks = false;
  for_each_missing(rule, request, [&](const KeyPart&, PartState state) {
    lacks = lacks || state == PartState::kMissing;
  });
  return lacks;
}

bool refuses(const Rule& rule, const Request& request) {
  bool lacks = false;
  if (rule.missing != MissingPart::kDeny) return lacks;
  if (request.named_key) return request.named_key->empty();
  for_each_missing(rule, request, [&](const KeyPart&, PartState) { lacks = true; });
  return lacks;
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
