#include "rules/request_facts.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/percent.h"
#include "rules/request/header_values.h"

namespace weir {
namespace {

// Decodes `encoded` at the end of `text`, with `plus` for each '+': in a query a blank.
// REQUIRES: the capacity of `text` suffices, since views of it are held.
std::string_view decode(std::string_view encoded, char plus, std::string& text) {
  const std::size_t begin = text.size();
  while (!encoded.empty()) {
    const auto byte = percent_byte(encoded);
    text += byte ? *byte : encoded.front() == '+' ? plus : encoded.front();
    encoded.remove_prefix(byte ? 3 : 1);
  }
  return std::string_view(text).substr(begin);
}

// Decoding makes no text longer. Each text is read twice: as a whole and in parts.
std::size_t decoded_max(const Request& request) {
  std::size_t size = request.query.size();
  for (const NameValue& header : request.headers) size += header.value.size();
  return 2 * size;
}

// Both "\153" and "\k" become "k".
std::string without_escapes(std::string_view text) {
  const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
  std::string plain;
  while (!text.empty()) {
    const bool is_escape = text.front() == '\\' && text.size() > 1;
    const bool is_byte =
        is_escape && text.size() > 3 && octal(1) && text[1] <= '3' && octal(2) && octal(3);
    plain += is_byte ? static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0')
                     : text[is_escape ? 1 : 0];
    text.remove_prefix(is_byte ? 4 : is_escape ? 2 : 1);
  }
  return plain;
}

// Gives all spellings that some origin reads as one value the same text. Python's origins read
// escapes in quotes, Express drops the end of a text that begins with a quote, many decode.
// REQUIRES: the capacity of `text` suffices
std::string_view cookie_value(std::string_view sent, std::string& text) {
  const bool is_quoted = sent.size() > 1 && sent.front() == '"';
  if (!is_quoted) return trim_blanks(decode(sent, '+', text));
  return trim_blanks(decode(without_escapes(sent.substr(1, sent.size() - 2)), '+', text));
}

constexpr std::string_view kCookieEnds = " \t,";

// Where the value at the front of a text ends, for servers that end cookies there.
std::size_t value_end(std::string_view text) {
  bool is_escaped = true;  // the first quotation mark ends nothing
  for (std::size_t at = 0; text.starts_with('"') && at < text.size(); ++at) {
    if (text[at] == '"' && !is_escaped) return at + 1;
    is_escaped = text[at] == '\\' && !is_escaped;
  }
  return std::min(text.find_first_of(kCookieEnds), text.size());
}

// Calls visit(name, value) with the cookie between two ';'. Then with the cookies that other
// servers find there: Python ends cookies at blanks, Perl at commas.
template <typename Visit>
void for_each_cookie(std::string_view part, Visit visit) {
  const auto equals = part.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view whole = trim_blanks(part.substr(equals + 1));
  visit(trim_blanks(part.substr(0, equals)), whole);
  if (whole.find('=', value_end(whole)) == std::string_view::npos) return;
  while (part.find('=') != std::string_view::npos) {
    const std::string_view before = trim_blanks(take_until(part, '='));
    part = trim_blanks(part);
    const std::size_t end = value_end(part);
    visit(before.substr(before.find_last_of(kCookieEnds) + 1), part.substr(0, end));
    part.remove_prefix(end);
  }
}

// Gives each name a number.
void note_all(const std::vector<PropertyMatch>& matches, auto& names) {
  for (const PropertyMatch& match : matches) names.try_emplace(match.name, names.size());
}
void note_all(const std::vector<PropertyMatch>& matches, ClaimNames& names) {
  for (const PropertyMatch& match : matches) names.insert(match.name);
}

}  // namespace

void NamedValues::clear(std::size_t names) {
  values_.clear();
  seen_.assign(names, {});
}

void NamedValues::add(std::size_t number, const NameValue& value) {
  Seen& seen = seen_[number];
  if (seen.count == kValuesMax) {
    values_[seen.last] = value;
    return;
  }
  ++seen.count;
  seen.last = values_.size();
  values_.push_back(value);
}

RequestFacts::RequestFacts(std::span<const Rule> rules, RequestSources sources)
    : sources_(std::move(sources)) {
  for (const Rule& rule : rules) note(rule);
  looks_at_any_ = !parameters_.empty() || !cookies_.empty() || looks_at_tokens() ||
                  looks_at_country_ || looks_at_folder_;
}

void RequestFacts::note(const Rule& rule) {
  if (rule.match) {
    for_each_match(*rule.match, [&](const RequestMatch& match) { note(match); });
  }
  for (const KeyPart& part : rule.key_parts) note(part);
  if (rule.tier) note(*rule.tier);
  if (rule.cost_from) note(*rule.cost_from);
  const auto note_part = [&](const KeyPart& part) { note(part); };
  if (rule.denial.body) rule.denial.body->for_each_part(note_part);
  for (const HeaderTemplate& header : rule.denial.headers) header.value.for_each_part(note_part);
}

void RequestFacts::note(const RequestMatch& match) {
  note_all(match.parameters, parameters_);
  note_all(match.cookies, cookies_);
  note_all(match.claims, claims_);
  note_all(match.unverified_claims, unverified_claims_);
  looks_at_country_ |= !match.countries.empty();
  needs_.target |= !match.paths.empty() || !match.path_regexes.empty() || !match.parameters.empty();
  needs_.host |= !match.hosts.empty();
  needs_.headers |= !match.headers.empty() || !match.cookies.empty() || !match.claims.empty() ||
                    !match.unverified_claims.empty() || !match.countries.empty();
  looks_at_folder_ |= match.is_loose();
}

void RequestFacts::note(const KeyPart& part) {
  if (part.property == KeyPart::Property::kQuery)
    parameters_.try_emplace(part.name, parameters_.size());
  if (part.property == KeyPart::Property::kCookie) cookies_.try_emplace(part.name, cookies_.size());
  if (part.property == KeyPart::Property::kClaim) claims_.insert(part.name);
  looks_at_country_ |= part.property == KeyPart::Property::kCountry;
  switch (part.property) {
    case KeyPart::Property::kClient:
    case KeyPart::Property::kMethod: break;
    case KeyPart::Property::kHost: needs_.host = true; break;
    case KeyPart::Property::kPath:
    case KeyPart::Property::kQuery: needs_.target = true; break;
    case KeyPart::Property::kCountry:
    case KeyPart::Property::kHeader:
    case KeyPart::Property::kCookie:
    case KeyPart::Property::kClaim: needs_.headers = true; break;
  }
}

void RequestFacts::find_all(Request& request, FactScratch& scratch, Instant now) const {
  if (!parameters_.empty() || !cookies_.empty()) {
    scratch.text.clear();
    scratch.text.reserve(decoded_max(request));
  }
  if (!parameters_.empty()) {
    read_query(request.query, scratch);
    request.parameters = scratch.parameters.all();
  }
  if (!cookies_.empty()) {
    read_cookies(request, scratch);
    request.cookies = scratch.cookies.all();
  }
  if (looks_at_tokens()) read_tokens(request, scratch, now);
  if (looks_at_country_) request.country = country_of(request);
  complete_path(request, scratch);
}

void RequestFacts::complete_path(Request& request, FactScratch& scratch) const {
  if (!looks_at_folder_) return;
  scratch.folder.assign(request.path);
  if (!request.path.ends_with('/')) scratch.folder += '/';
  scratch.folder_in_small.resize(scratch.folder.size());
  std::ranges::transform(scratch.folder, scratch.folder_in_small.begin(), ascii_lower);
  request.folder = scratch.folder;
  request.folder_in_small = scratch.folder_in_small;
}

std::string_view RequestFacts::find_repeated(const Request& request) const {
  const auto is_repeated = [&](std::string_view name) {
    int values = 0;
    for_each_header_value(request.headers, name, [&](std::string_view) { ++values; });
    return values > 1;
  };
  if (looks_at_tokens() && is_repeated(sources_.token_header)) return sources_.token_header;
  if (looks_at_country_ && is_repeated(sources_.country_header)) return sources_.country_header;
  return {};
}

std::string_view RequestFacts::country_of(const Request& request) const {
  std::string_view country;
  if (!sources_.country_header.empty()) {
    country = request.header(sources_.country_header).value_or("");
  }
  const bool needs_database = country.empty() && sources_.country_database && request.client;
  return needs_database ? sources_.country_database->country(*request.client) : country;
}

void RequestFacts::read_query(std::string_view query, FactScratch& scratch) const {
  scratch.parameters.clear(parameters_.size());
  const auto read = [&](std::string_view pair) {
    const auto equals = std::min(pair.find('='), pair.size());
    const std::size_t before = scratch.text.size();
    const auto name = parameters_.find(decode(pair.substr(0, equals), ' ', scratch.text));
    scratch.text.resize(before);
    if (name == parameters_.end()) return;
    const auto value = decode(pair.substr(std::min(equals + 1, pair.size())), ' ', scratch.text);
    scratch.parameters.add(name->second, {.name = name->first, .value = value});
  };
  while (!query.empty()) {
    std::string_view pair = take_until(query, '&');
    read(pair);
    // Perl, and Rack before 3, also end a parameter there.
    const bool has_parts = pair.find(';') != std::string_view::npos;
    while (has_parts && !pair.empty()) read(take_until(pair, ';'));
  }
}

void RequestFacts::read_tokens(Request& request, FactScratch& scratch, Instant now) const {
  constexpr std::string_view kScheme = "bearer";
  std::string_view token = request.header(sources_.token_header).value_or("");
  if (equal_ignoring_case(token.substr(0, kScheme.size()), kScheme)) {
    token = trim_blanks(token.substr(kScheme.size()));  // many readers take any blanks
  }
  if (!claims_.empty() && sources_.token_key != nullptr) {
    request.token =
        read_claims(token, sources_.token_key.get(), claims_, scratch.token, scratch.claims, now);
    request.claims = scratch.claims;
  }
  if (!unverified_claims_.empty()) {
    read_claims(token, nullptr, unverified_claims_, scratch.unverified_token,
                scratch.unverified_claims, now);
    request.unverified_claims = scratch.unverified_claims;
  }
}

void RequestFacts::read_cookies(const Request& request, FactScratch& scratch) const {
  scratch.cookies.clear(cookies_.size());
  for (const NameValue& header : request.headers) {
    if (!equal_ignoring_case(header.name, "cookie")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      for_each_cookie(take_until(rest, ';'), [&](std::string_view name, std::string_view sent) {
        const auto known = cookies_.find(name);
        if (known == cookies_.end()) return;
        const auto value = cookie_value(sent, scratch.text);
        scratch.cookies.add(known->second, {.name = known->first, .value = value});
      });
    }
  }
}

}  // namespace weir
