#include "config/config_warnings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/ip_address.h"
#include "config/fields/section_reader.h"
#include "config/rules/match_cover.h"
#include "config/rules/rule_config.h"
#include "rules/mode.h"
#include "rules/request/request_path.h"

namespace weir {
namespace {

// A limit that all clients share is usually larger.
constexpr std::int64_t kSharedLimitMin = 100;

// The comparisons of rule_warnings() then take some tenths of a second.
constexpr std::int64_t kStepsOfRule = 1'000'000;

constexpr std::string_view kHeaderText = "header";

// Entries that Envoy fills with the client's address.
constexpr std::array<std::string_view, 2> kAddressEntries = {"remote_address",
                                                             "masked_remote_address"};

// A part of a request that the client chooses freely.
struct Choice {
  std::string_view what;
  std::string name;
};

std::string name_of(const KeyPart& part) {
  std::string name;
  append_name(part, name);
  return printable(name);
}

double rate(const Quota& quota) {
  return static_cast<double>(quota.limit()) / static_cast<double>(quota.window().count());
}

// check:allow(methods): one for each warning; parts would need the same places, headers and cover
class Warnings {
 public:
  // Without a file's name, rules have no lines.
  explicit Warnings(const Config& config, std::int64_t steps_max = MatchCover::kStepsMax,
                    const std::string& file = {})
      : config_(config),
        trusted_headers_(config.settings->trusted_headers),
        has_lines_(!file.empty()),
        found_(file),
        cover_(steps_max) {}

  ConfigErrors all() {
    for (std::size_t i = 0; i < config_.rules.size() && !found_.full(); ++i) warn_of_rule(i);
    return found_.empty() ? ConfigErrors() : found_.take();
  }

  ConfigErrors one(std::size_t index) {
    warn_of_rule(index);
    return found_.empty() ? ConfigErrors() : found_.take();
  }

 private:
  void warn_of_rule(std::size_t index) {
    const Rule& rule = config_.rules[index];
    const RulePlaces& places = config_.rule_places[index];
    if (!rule.enabled) return;
    warn_of_networks(rule, places);
    warn_of_response(rule, places);
    if (!rule.match) return;
    warn_of_match(*rule.match, places);
    warn_of_earlier(index);
    warn_of_choice(index);
    warn_of_mode(index);
    warn_of_key(rule, places);
    warn_of_fallback(rule, places);
    warn_of_missing(index);
    warn_of_overrides(rule, places);
    warn_of_unnamed_parts(rule, places);
    warn_of_cost(rule, places);
    warn_of_unknown_cost(rule, places);
    if (rule.tier) warn_of_trust(choice(*rule.tier), places.of("tier"), "choose a tier");
    if (rule.cost_from)
      warn_of_trust(choice(*rule.cost_from), places.of("cost"), "choose the cost");
  }

  void warn(const TextPlace& place, const std::string& text) {
    found_.add(place, std::string(kWarningMark) + text);
  }

  void warn_of_response(const Rule& rule, const RulePlaces& places) {
    if (!rule.response || rule.response->counts(kUnknownStatus)) return;
    warn(places.of("count_if"),
         "'unknown: skip' counts nobody who leaves before the response, though the origin may have "
         "handled the request: guesses that are sent and closed at once are not limited");
  }

  void warn_of_match(const RequestMatch& match, const RulePlaces& places) {
    const TextPlace& place = places.of("match");
    if (cover_.is_contradiction(match)) {
      warn(place, "the rule never applies: its conditions exclude one another");
    }
    for_each_match(match, [&](const RequestMatch& inner) {
      for (const TextPattern& path : inner.paths) warn_of_spelling(path, place);
      for (const TextPattern& host : inner.hosts) {
        if (!host.text.ends_with('.')) continue;
        warn(place, "no request has the host '" + printable(host.text) +
                        "': hosts are compared without the dot at their end");
      }
      for (const PathRegex& regex : inner.path_regexes) {
        if (cover_.regex(regex.pattern).matches_paths()) continue;
        warn(place, "no path matches '" + printable(regex.pattern) +
                        "': the whole path has to, from its first '/'");
      }
    });
  }

  // Checks a pattern's segments before its first '*'.
  void warn_of_spelling(const TextPattern& path, const TextPlace& place) {
    const auto known = path.is_exact ? path.text : path.text.substr(0, path.text.find('*'));
    const auto end = path.is_exact ? known.size() : known.rfind('/') + 1;
    const std::string_view begin = std::string_view(known).substr(0, end);
    PathReadings readings;
    readings.read(begin);
    const std::string first(readings.all().front());
    if (begin.empty() || first == begin) return;
    warn(place, "requests for the path '" + printable(path.text) + "' are compared as '" +
                    printable(first + path.text.substr(end)) + "': write that");
  }

  // Clients are counted by addresses and networks in one spelling.
  void warn_of_overrides(const Rule& rule, const RulePlaces& places) {
    const bool by_client =
        rule.key_parts.size() == 1 && rule.key_parts.front().property == KeyPart::Property::kClient;
    if (!by_client) return;
    const std::map<std::string_view, std::span<const Quota>> in_order(rule.overrides.begin(),
                                                                      rule.overrides.end());
    for (const auto& [key, limits] : in_order) {
      const Request request{.client = IpAddress::parse(key.substr(0, key.find('/')))};
      PartScratch scratch{};
      const auto counted = part_text(rule.key_parts.front(), request, scratch);
      if (counted == key) continue;
      std::string text = "no client has the key '" + printable(key) + "'";
      if (request.client) text += "; this one is counted as '" + std::string(counted) + "'";
      warn(places.of("overrides"), text);
    }
  }

  // A descriptor names no client, so the networks of lists read the key as an address.
  void warn_of_networks(const Rule& rule, const RulePlaces& places) {
    if (!rule.descriptor) return;
    for (const auto& [field, list] : {std::pair("allow", &rule.allow), {"deny", &rule.deny}}) {
      if (!list->networks.empty()) warn_of_networks(*rule.descriptor, places.of(field));
    }
  }
  void warn_of_networks(const DescriptorMatch& descriptor, const TextPlace& place) {
    const auto entry = std::ranges::find_if(descriptor.entries, &DescriptorEntry::is_open);
    if (descriptor.open_entries() != 1) {
      warn(place,
           "no descriptor has an address in these networks: only a single entry whose value "
           "is left open is read as one");
    } else if (std::ranges::find(kAddressEntries, entry->key) == kAddressEntries.end()) {
      warn(place, "the value of the entry '" + printable(entry->key) +
                      "' is read as an address; a client that fills it is in any network that it "
                      "likes; use "
                      "'remote_address', which Envoy fills");
    }
  }

  void warn_of_cost(const Rule& rule, const RulePlaces& places) {
    const auto limits = rule.limits_for({}, {});
    const auto least = std::ranges::min(limits, {}, &Quota::capacity).capacity();
    if (rule.cost_from || least == 0 || rule.cost <= least) return;
    warn(places.of("cost"), "every request is denied: it costs " + std::to_string(rule.cost) +
                                ", and no key can spend more than " + std::to_string(least) +
                                " at once");
  }

  // Nobody knows the cost of requests under way.
  void warn_of_unknown_cost(const Rule& rule, const RulePlaces& places) {
    const bool is_unknown =
        rule.response && rule.response->cost_from != ResponseCount::CostFrom::kNowhere;
    if (!is_unknown || rule.response->reserved > 1) return;
    const std::string at_once =
        rule.response->reserved == 0
            ? "any number of requests"
            : std::to_string(rule.quota.capacity()) + " requests, as many as the limit has units,";
    warn(places.of("cost"), at_once +
                                " of a key pass at once, whatever each will cost; with "
                                "'reserve: N' no more than limit / N pass");
  }

  void warn_of_earlier(std::size_t index) {
    const Rule& rule = config_.rules[index];
    for (std::size_t i = 0; i < index; ++i) {
      const Rule& earlier = config_.rules[i];
      const bool decides = earlier.match && earlier.enabled && !earlier.active &&
                           earlier.missing != MissingPart::kSkip;
      if (!decides || earlier.group != rule.group || !cover_.covers(*earlier.match, *rule.match)) {
        continue;
      }
      return warn(config_.rule_places[index].of("match"),
                  "the rule never applies: " + named(i) +
                      " comes first and matches all that it matches; put it before that one, "
                      "or into another group");
    }
  }

  // Shared rules of one request are decided together, in their strictest mode. Slots are decided
  // apart.
  void warn_of_mode(std::size_t index) {
    const Rule& rule = config_.rules[index];
    const Mode mode = mode_of(rule);
    if (mode == Mode::kLocal || mode == Mode::kWorld || rule.has_slots()) return;
    std::size_t strictest = index;
    for (std::size_t i = 0; i < config_.rules.size(); ++i) {
      const Rule& other = config_.rules[i];
      const bool is_stricter =
          mode_of(other) != Mode::kWorld && mode_of(other) > mode_of(config_.rules[strictest]);
      const bool may_apply =
          other.match && other.enabled && other.group != rule.group && !other.has_slots();
      if (is_stricter && may_apply && cover_.may_meet(*rule.match, *other.match)) strictest = i;
    }
    if (strictest == index) return;
    warn(config_.rule_places[index].of("mode"),
         "where " + named(strictest) + " applies as well, both are decided in its mode, '" +
             std::string(mode_name(mode_of(config_.rules[strictest]))) + "', and not in '" +
             std::string(mode_name(mode)) + "'; give both one mode, or put them into one group");
  }

  // "'login' (line 3)"
  std::string named(std::size_t index) const {
    const std::string id = "'" + config_.rules[index].id + "'";
    if (!has_lines_) return id;
    return id + " (line " + std::to_string(config_.rule_places[index].rule.line) + ")";
  }

  Mode mode_of(const Rule& rule) const { return rule.mode.value_or(config_.settings->store.mode); }

  // A condition that anybody can meet, on a rule that allows more than the rule that would apply
  // otherwise.
  void warn_of_choice(std::size_t index) {
    const Rule& rule = config_.rules[index];
    const auto met = met_by_choice(*rule.match);
    if (!met) return;
    for (std::size_t i = index + 1; i < config_.rules.size(); ++i) {
      const Rule& later = config_.rules[i];
      const bool is_stricter = later.match && later.enabled && later.group == rule.group &&
                               rate(later.quota) < rate(rule.quota);
      if (!is_stricter || !cover_.covers(*later.match, *rule.match)) continue;
      return warn_of_trust(met, config_.rule_places[index].of("match"),
                           "have this limit instead of the lower one of " + named(i));
    }
  }

  // The part that anybody can send to meet the match. Nothing if the match needs more than that.
  std::optional<Choice> met_by_choice(const RequestMatch& match) const {
    if (!match.clients.empty() || !match.claims.empty()) return std::nullopt;
    if (!match.unverified_claims.empty()) {
      return Choice{"unverified claim", match.unverified_claims.front().name};
    }
    using enum KeyPart::Property;
    for (const auto& [property, conditions] :
         {std::pair(kHeader, &match.headers), std::pair(kQuery, &match.parameters),
          std::pair(kCookie, &match.cookies)}) {
      for (const PropertyMatch& condition : *conditions) {
        if (auto met = choice({.property = property, .name = condition.name})) return met;
      }
    }
    if (!match.countries.empty()) return choice({.property = kCountry});
    for (const auto* list : {&match.all_of, &match.any_of}) {
      for (const RequestMatch& inner : *list) {
        if (auto met = met_by_choice(inner)) return met;
      }
    }
    return std::nullopt;
  }

  void warn_of_key(const Rule& rule, const RulePlaces& places) {
    if (rule.key_parts.empty() && rule.quota.limit() > 0 && rule.quota.limit() < kSharedLimitMin) {
      warn(places.of("limit"), "all clients share this limit; for one each add 'key: client'");
    }
    // One chosen part suffices, whatever the others are.
    for (const KeyPart& part : rule.key_parts) {
      const auto chosen = choice(part);
      if (!chosen) continue;
      return warn_of_trust(chosen, places.of("key"), "get a counter of its own each time");
    }
  }

  // A list of parts that looks as if only the first part that is there counted, but all parts do.
  void warn_of_fallback(const Rule& rule, const RulePlaces& places) {
    if (rule.key_form == Rule::KeyForm::kFirst) return;
    const auto is_client = [](const KeyPart& part) {
      return part.property == KeyPart::Property::kClient;
    };
    const auto& parts = rule.key_parts;
    const auto missing = std::ranges::find_if(parts, &KeyPart::may_be_missing);
    if (std::find_if(missing, parts.end(), is_client) == parts.end()) return;
    const auto always = std::ranges::find_if_not(parts, &KeyPart::may_be_missing);
    warn(places.of("key"),
         "all of these parts make the key, not the first that is there, since "
         "no client can leave out '" +
             name_of(*always) + "': with '" + name_of(*missing) +
             "', too, each address has a counter of its own; leave out "
             "'client', which stands in for what is missing, or put it first "
             "if you mean that");
  }

  void warn_of_missing(std::size_t index) {
    const Rule& rule = config_.rules[index];
    const TextPlace& place = config_.rule_places[index].of("missing");
    const auto part = std::ranges::find_if(rule.key_parts, &KeyPart::may_be_missing);
    if (part == rule.key_parts.end()) return;
    if (rule.missing == MissingPart::kShared) {
      warn(place, "all requests without '" + name_of(*part) +
                      "' share one counter, and one client can use it up for all; without "
                      "'missing' each client has its own");
    }
    if (rule.missing != MissingPart::kSkip || is_followed(index)) return;
    warn(place, "who leaves out '" + name_of(*part) +
                    "' passes this rule, and no later one of its group counts the request; add "
                    "one, or leave out 'missing'");
  }

  // Whether a later rule of the group applies wherever this one might have.
  bool is_followed(std::size_t index) {
    const Rule& rule = config_.rules[index];
    for (std::size_t i = index + 1; i < config_.rules.size(); ++i) {
      const Rule& later = config_.rules[i];
      const bool decides = later.match && later.enabled && !later.active && !later.shadow &&
                           later.enforced_percent == 100 && later.missing != MissingPart::kSkip &&
                           later.group == rule.group;
      if (decides && cover_.covers(*later.match, *rule.match)) return true;
    }
    return false;
  }

  // A key of the first part that is there begins with that part's name. Networks in lists are
  // compared with the client's address, whatever the key.
  void warn_of_unnamed_parts(const Rule& rule, const RulePlaces& places) {
    if (rule.key_form != Rule::KeyForm::kFirst) return;
    std::map<std::string_view, std::string_view> fields;  // by key, in order
    for (const auto& [key, limits] : rule.overrides) fields.emplace(key, "overrides");
    for (const auto& [field, list] : {std::pair("allow", &rule.allow), {"deny", &rule.deny}}) {
      for (const std::string& key : list->keys) {
        if (!IpPrefix::parse(key)) fields.emplace(key, field);
      }
    }
    for (const auto& [key, field] : fields) {
      const auto begins_key = [&, key = key](const KeyPart& part) {
        return key.starts_with(name_of(part) + " ");
      };
      if (std::ranges::any_of(rule.key_parts, begins_key)) continue;
      warn(places.of(field), "no request has the key '" + printable(key) +
                                 "': here a key says of which part it is, such as '" +
                                 name_of(rule.key_parts.front()) + " " + printable(key) + "'");
    }
  }

  void warn_of_trust(const std::optional<Choice>& choice, const TextPlace& place,
                     const std::string& effect) {
    if (!choice) return;
    std::string text = "anybody can send any " + std::string(choice->what) + " '" + choice->name +
                       "', and so " + effect;
    if (choice->what == kHeaderText) {
      text += "; if a proxy sets or checks it, name it in 'trusted_headers'";
    }
    warn(place, text);
  }

  // The part in which a client can freely choose the property; nothing if it cannot.
  std::optional<Choice> choice(const KeyPart& part) const {
    using enum KeyPart::Property;
    switch (part.property) {
      case kQuery: return Choice{"parameter", part.name};
      case kCookie: return Choice{"cookie", part.name};
      case kHeader: return header_choice(part.name);
      case kCountry: return header_choice(config_.sources.country_header);
      default: return std::nullopt;
    }
  }

  std::optional<Choice> header_choice(const std::string& name) const {
    const bool trusted = std::ranges::any_of(
        trusted_headers_, [&](const auto& other) { return equal_ignoring_case(other, name); });
    if (name.empty() || trusted) return std::nullopt;
    return Choice{kHeaderText, name};
  }

  const Config& config_;
  const Texts& trusted_headers_;
  const bool has_lines_;
  Mistakes found_;
  MatchCover cover_;
};

std::string in_capitals(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

// "/LOGIN" and "/login/" for "/login", as far as the rule leaves open how they are compared.
std::optional<std::string> spelling_note(const std::string& path, const RulePlaces& places) {
  std::string spellings;
  std::string words;
  const auto add = [&](const std::string& other, std::string_view field, std::string_view word) {
    if (other == path || places.fields.contains("match." + std::string(field))) return;
    spellings += (spellings.empty() ? "'" : " and '") + printable(other) + "'";
    words += (words.empty() ? "'" : " and '") + std::string(field) + ": " + std::string(word) + "'";
  };
  const bool has_slash = path.ends_with('/');
  add(in_capitals(path), "case", "insensitive");
  add(has_slash ? path.substr(0, path.size() - 1) : path + "/", "trailing_slash", "same");
  if (spellings.empty()) return std::nullopt;
  return "a request for " + spellings + " passes this rule for '" + printable(path) +
         "'; if that is the same to your origin, add " + words +
         ", else say 'sensitive' and 'distinct' there";
}

}  // namespace

ConfigErrors spelling_notes(const Config& config, const std::string& file) {
  Mistakes found(file);
  for (std::size_t i = 0; i < config.rules.size() && !found.full(); ++i) {
    const Rule& rule = config.rules[i];
    if (!rule.match || !rule.enabled) continue;
    const auto exact = std::ranges::find_if(rule.match->paths, [](const TextPattern& path) {
      return path.is_exact && path.text != "/";
    });
    if (exact == rule.match->paths.end()) continue;
    const RulePlaces& places = config.rule_places[i];
    if (auto note = spelling_note(exact->text, places)) found.add(places.of("match"), *note);
  }
  return found.empty() ? ConfigErrors() : found.take();
}

ConfigErrors config_warnings(const Config& config, const std::string& file) {
  return Warnings(config, MatchCover::kStepsMax, file).all();
}

ConfigErrors rule_warnings(const Config& config, std::size_t index) {
  return Warnings(config, kStepsOfRule).one(index);
}

}  // namespace weir
