#include "rules/rule_key.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/length_prefix.h"

namespace weir {
namespace {

// Precedes an address that stands in for a part. The mark precedes a value that begins like it.
constexpr std::string_view kByClient = "client ";
constexpr std::string_view kMark = "client =";

// Authorization, and the headers of proxies that end like it: Proxy-Authorization.
bool has_credentials(const KeyPart& part) {
  constexpr std::string_view kEnd = "authorization";
  const std::string_view name = part.name;
  return part.property == KeyPart::Property::kHeader && name.size() >= kEnd.size() &&
         equal_ignoring_case(name.substr(name.size() - kEnd.size()), kEnd);
}

// The part behind the scheme; everything if nothing follows. Origins read the scheme in any case
// and allow any blanks behind it. Many take only the first word there, unless it has parameters.
std::string_view credentials_in(std::string_view value) {
  constexpr std::string_view kBlanks = " \t";
  const auto begin = value.find_first_not_of(kBlanks, value.find_first_of(kBlanks));
  if (begin == std::string_view::npos) return value;
  value.remove_prefix(begin);
  const std::string_view word = value.substr(0, value.find_first_of(kBlanks));
  return word.find_first_of("\",") == std::string_view::npos ? word : value;
}

// Two texts, which are not joined yet.
struct Words {
  std::string_view begin;
  std::string_view rest;
};

// The key's text for a value that may be missing.
Words words_of(const Rule& rule, std::string_view value, const Request& request,
               PartScratch& scratch) {
  if (!value.empty()) return {.begin = value.starts_with(kByClient) ? kMark : "", .rest = value};
  if (rule.missing == MissingPart::kShared) return {};
  const auto client = client_text(KeyPart(), request.client, scratch);
  return {.begin = client.empty() ? "" : kByClient, .rest = client};
}

// Makes the key from a text named instead of the rule's parts, which may be missing, too.
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

// If there are several parts, each is preceded by its length.
void append_value(const Rule& rule, const KeyPart& part, std::string_view value,
                  const Request& request, std::string& key) {
  if (has_credentials(part)) value = credentials_in(value);
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

bool has_secret_key(const Rule& rule) {
  return std::ranges::any_of(rule.key_parts, [](const KeyPart& part) {
    using enum KeyPart::Property;
    if (part.property != kHeader) return part.property == kCookie;
    return has_credentials(part) || equal_ignoring_case(part.name, "cookie");
  });
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

// A client could as well leave out a header that it repeats. But its origin may take one of the
// values, and that may be on the deny list: so the rule applies.
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
