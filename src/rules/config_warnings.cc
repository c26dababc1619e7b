#include "rules/config_warnings.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "rules/request_path.h"
#include "rules/section_reader.h"

namespace weir {
namespace {

// A limit for all clients together is meant to be larger.
constexpr std::int64_t kSharedLimitMin = 100;

bool is_contradiction(const RequestMatch& match) {
  const auto excludes = [&](const RequestMatch& inner) {
    return !match.methods.empty() && !inner.methods.empty() &&
           std::ranges::find_first_of(match.methods, inner.methods) == match.methods.end();
  };
  return std::ranges::any_of(match.none_of,
                             [&](const RequestMatch& inner) { return covers(inner, match); }) ||
         std::ranges::any_of(match.all_of, excludes);
}

class Warnings {
 public:
  Warnings(const Config& config, const std::string& file) : config_(config), found_(file) {}

  ConfigErrors all() {
    for (std::size_t i = 0; i < config_.rules.size() && !found_.full(); ++i) {
      const Rule& rule = config_.rules[i];
      const RulePlaces& places = config_.rule_places[i];
      if (!rule.match || !rule.enabled) continue;
      warn_of_match(*rule.match, places);
      warn_of_earlier(i);
      warn_of_choice(i);
      warn_of_key(rule, places);
      if (rule.tier) warn_of_trust(*rule.tier, places.of("tier"), "choose a tier");
      if (rule.cost_from) warn_of_trust(*rule.cost_from, places.of("cost"), "choose the cost");
    }
    return found_.empty() ? ConfigErrors() : found_.take();
  }

 private:
  void warn(const TextPlace& place, const std::string& text) {
    found_.add(place, "warning: " + text);
  }

  void warn_of_match(const RequestMatch& match, const RulePlaces& places) {
    if (is_contradiction(match)) {
      warn(places.of("match"), "the rule never applies: its conditions exclude one another");
    }
    std::string scratch;
    for (const TextPattern& path : match.paths) {
      if (!path.is_exact || normal_path(path.text, scratch) == path.text) continue;
      warn(places.of("match"), "no request has the path '" + printable(path.text) +
                                   "': paths are compared in one spelling, here '" +
                                   printable(scratch) + "'");
    }
  }

  void warn_of_earlier(std::size_t index) {
    const Rule& rule = config_.rules[index];
    for (std::size_t i = 0; i < index; ++i) {
      const Rule& earlier = config_.rules[i];
      const bool decides = earlier.match && earlier.enabled && !earlier.active;
      if (!decides || earlier.group != rule.group || !covers(*earlier.match, *rule.match)) {
        continue;
      }
      const auto line = std::to_string(config_.rule_places[i].rule.line);
      return warn(config_.rule_places[index].of("match"),
                  "the rule never applies: '" + earlier.id + "' (line " + line +
                      ") comes first and matches all that it matches; put it before that one, "
                      "or into another group");
    }
  }

  // A condition that anybody can meet, on a rule that allows more than the one that would
  // apply otherwise.
  void warn_of_choice(std::size_t index) {
    const Rule& rule = config_.rules[index];
    const auto met = met_by_choice(*rule.match);
    if (!met) return;
    for (std::size_t i = index + 1; i < config_.rules.size(); ++i) {
      const Rule& later = config_.rules[i];
      const bool is_stricter = later.match && later.enabled && later.group == rule.group &&
                               rate(later.quota) < rate(rule.quota);
      if (!is_stricter || !covers(*later.match, *rule.match)) continue;
      const auto line = std::to_string(config_.rule_places[i].rule.line);
      return warn_of_trust(
          *met, config_.rule_places[index].of("match"),
          "have this limit instead of the lower one of '" + later.id + "' (line " + line + ")");
    }
  }

  std::optional<KeyPart> met_by_choice(const RequestMatch& match) const {
    using enum KeyPart::Property;
    for (const auto& [property, conditions] :
         {std::pair(kHeader, &match.headers), std::pair(kQuery, &match.parameters),
          std::pair(kCookie, &match.cookies)}) {
      for (const PropertyMatch& condition : *conditions) {
        const KeyPart part{.property = property, .name = condition.name};
        if (chooser(part)) return part;
      }
    }
    return std::nullopt;
  }

  static double rate(const Quota& quota) {
    return static_cast<double>(quota.limit()) / static_cast<double>(quota.window().count());
  }

  void warn_of_key(const Rule& rule, const RulePlaces& places) {
    if (rule.key_parts.empty() && rule.quota.limit() > 0 && rule.quota.limit() < kSharedLimitMin) {
      warn(places.of("limit"), "all clients share this limit; for one each add 'key: client'");
    }
    const auto is_chosen = [&](const KeyPart& part) { return chooser(part).has_value(); };
    if (rule.key_parts.empty() || !std::ranges::all_of(rule.key_parts, is_chosen)) return;
    warn_of_trust(rule.key_parts.front(), places.of("key"), "get a counter of its own each time");
  }

  void warn_of_trust(const KeyPart& part, const TextPlace& place, const std::string& effect) {
    const auto what = chooser(part);
    if (!what) return;
    std::string text = "anybody can send any " + *what + " '" + part.name + "', and so " + effect;
    if (part.property == KeyPart::Property::kHeader) {
      text += "; if a proxy sets or checks it, name it in 'trusted_headers'";
    }
    warn(place, text);
  }

  // What a client puts the property in as it likes; nothing if it cannot.
  std::optional<std::string> chooser(const KeyPart& part) const {
    if (part.property == KeyPart::Property::kQuery) return "parameter";
    if (part.property == KeyPart::Property::kCookie) return "cookie";
    if (part.property != KeyPart::Property::kHeader) return std::nullopt;
    const bool trusted = std::ranges::any_of(config_.trusted_headers, [&](const std::string& name) {
      return equal_ignoring_case(name, part.name);
    });
    return trusted ? std::nullopt : std::optional<std::string>("header");
  }

  const Config& config_;
  Mistakes found_;
};

}  // namespace

ConfigErrors config_warnings(const Config& config, const std::string& file) {
  return Warnings(config, file).all();
}

}  // namespace weir
