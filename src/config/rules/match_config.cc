#include "base/ascii.h"
#include "base/decimal.h"
#include "config/rules/rule_config.h"
#include "rules/mode.h"
#include "rules/request/header_values.h"

#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace weir {
namespace {

constexpr std::string_view kNoCountry =
    "countries are unknown; say at the top level which header a proxy puts them in, such as "
    "'country_header: CF-IPCountry', or which file knows them, such as "
    "'country_database: GeoLite2-Country.mmdb'";
constexpr std::string_view kNoTokenKey =
    "no token is believed without a key; add 'jwt' with a 'secret_file' or a 'public_key_file' "
    "at the top level";

// Reads a match after SectionReader has checked its fields.
class MatchReader {
 public:
  MatchReader(const RuleContext& context, RegexBudget& regexes)
      : context_(context), regexes_(regexes) {}

  RequestMatch read(const SectionReader& reader, std::size_t depth) const {
    RequestMatch match;
    reader.fill(match);
    read_paths(reader, match);
    read_regexes(reader, match);
    read_clients(reader, match);
    match.headers = read_properties(reader, "header");
    for (PropertyMatch& header : match.headers) {
      const NameValue written{.name = header.name, .value = header.value.text};
      header.value = TextPattern(joined_values({&written, 1}, header.name));
    }
    match.parameters = read_properties(reader, "query");
    match.cookies = read_properties(reader, "cookie");
    read_claims(reader, match);
    if (!match.countries.empty() && !context_.knows_countries) {
      reader.mistake("country", std::string(kNoCountry));
    }
    read_inner(reader, match, depth + 1);
    return match;
  }

 private:
  static void read_paths(const SectionReader& reader, RequestMatch& match) {
    for (const std::string_view field : {"case", "trailing_slash"}) {
      if (!reader.is_set(field) || reader.is_set("path")) continue;
      reader.mistake(field, "'" + std::string(field) +
                                "' is only for 'path'; in 'path_regex' write (?i) for any case, "
                                "and /? for a slash");
    }
    if (match.path_case == PathCase::kSensitive) return;
    for (TextPattern& path : match.paths) path.text = to_ascii_lower(path.text);
  }

  void read_regexes(const SectionReader& reader, RequestMatch& match) const {
    for (const YamlNode* text : reader.texts("path_regex")) {
      match.path_regexes.push_back({.pattern = text->text});
      if (const auto mistake = regexes_.mistake(text->text)) {
        reader.mistake(text->place,
                       "'" + printable(text->text) +
                           "' cannot be used as an expression: " + printable(*mistake));
      }
    }
  }

  static void read_clients(const SectionReader& reader, RequestMatch& match) {
    for (const YamlNode* text : reader.texts("client")) {
      const auto network = IpPrefix::parse(text->text);
      if (network) match.clients.push_back(*network);
      if (!network) reader.mistake(text->place, not_a_network(*text));
    }
  }

  static std::vector<PropertyMatch> read_properties(const SectionReader& reader,
                                                    std::string_view field) {
    std::vector<PropertyMatch> properties;
    reader.for_each(field,
                    [&](const SectionReader& item) { item.fill(properties.emplace_back()); });
    return properties;
  }

  void read_claims(const SectionReader& reader, RequestMatch& match) const {
    reader.for_each("jwt", [&](const SectionReader& item) {
      if (!item.valid()) return;
      const bool unverified = item.get<bool>("unverified").value_or(false);
      auto& claims = unverified ? match.unverified_claims : match.claims;
      item.fill(claims.emplace_back());
      if (unverified || context_.verifies_tokens) return;
      item.mistake("claim", std::string(kNoTokenKey) + ", or 'unverified: true' here");
    });
  }

  void read_inner(const SectionReader& reader, RequestMatch& match, std::size_t depth) const {
    read_list(reader, "all", match.all_of, depth);
    read_list(reader, "any", match.any_of, depth);
    if (!reader.is_set("not") || is_too_deep(reader, "not", depth)) return;
    if (const auto none = reader.section("not")) match.none_of.push_back(read(*none, depth));
  }

  void read_list(const SectionReader& reader, std::string_view field,
                 std::vector<RequestMatch>& matches, std::size_t depth) const {
    const auto list = reader.get<const YamlNode*>(field);
    if (reader.is_set(field) && (!list || (*list)->items.empty())) {
      reader.mistake(field, "'" + std::string(field) + "' is empty");
    }
    if (!list || is_too_deep(reader, field, depth)) return;
    reader.for_each(field,
                    [&](const SectionReader& inner) { matches.push_back(read(inner, depth)); });
  }

  static bool is_too_deep(const SectionReader& reader, std::string_view field, std::size_t depth) {
    if (depth <= kMatchDepthMax) return false;
    reader.mistake(field, "'" + std::string(field) + "' is nested deeper than " +
                              std::to_string(kMatchDepthMax));
    return true;
  }

  const RuleContext& context_;
  RegexBudget& regexes_;
};

}  // namespace

RequestMatch read_match(const SectionReader& reader, const RuleContext& context,
                        RegexBudget& regexes) {
  return MatchReader(context, regexes).read(reader, 0);
}

std::optional<Schedule> read_schedule(const SectionReader& reader) {
  if (!reader.valid()) return std::nullopt;
  Schedule::Spec spec;
  const auto days = reader.texts("days");
  if (!days.empty()) spec.days = 0;
  for (const YamlNode* text : days) spec.days |= *parse_days(text->text);
  if (const auto from = reader.get<std::string>("from")) spec.from = *parse_time_of_day(*from);
  if (const auto to = reader.get<std::string>("to")) spec.to = *parse_time_of_day(*to);
  if (spec.from == spec.to) {
    reader.mistake("to",
                   "'from' and 'to' are the same time; for whole days "
                   "leave both out");
  }
  reader.fill(spec);
  auto schedule = Schedule::make(spec);
  if (!schedule) {
    reader.mistake("zone", no_such_zone(spec.zone));
  }
  return schedule;
}

void check_source(const KeyPart& part, const SectionReader& reader, const TextPlace& place,
                  const RuleContext& context) {
  using enum KeyPart::Property;
  if (part.property == kCountry && !context.knows_countries) {
    reader.mistake(place, std::string(kNoCountry));
  }
  if (part.property == kClaim && !context.verifies_tokens) {
    reader.mistake(place, std::string(kNoTokenKey));
  }
}

std::string no_such_zone(std::string_view name) {
  if (name == "localtime") {
    return "'localtime' may be another zone on each node; write one such as Europe/Berlin or UTC";
  }
  return "there is no time zone '" + std::string(name) +
         "' in this system's tzdata; write one such as Europe/Berlin or UTC";
}

std::string not_a_network(const YamlNode& text) {
  const std::string begin = "'" + printable(text.text) + "' is no network; ";
  const auto meant = IpPrefix::parse(text.text, IpPrefix::Slips::kFixed);
  if (meant) return begin + "did you mean " + meant->to_string() + "?";
  return begin +
         "write an address and how many of its bits count, the others being zero, such as "
         "192.0.2.0/24";
}

}  // namespace weir
