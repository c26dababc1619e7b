// Reads the rules of a configuration file.
//
// Thread rule: one thread. Tested by src/config/config_test.cc.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/section_reader.h"
#include "config/rules/rule_context.h"
#include "rules/rollout.h"
#include "rules/rule.h"
#include "rules/text/path_regexes.h"

namespace weir {

struct ReadRules {
  std::vector<Rule> rules;
  std::map<std::string, Rollout> rollouts;  // by the rule's id
  std::vector<RulePlaces> places;           // parallel to `rules`
};

// `file` reads the whole file.
ReadRules read_rules(const SectionReader& file, const RuleContext& context);

// Parts of a rule; each reads its own section. match_config.cc: what the rule applies to.
RequestMatch read_match(const SectionReader& reader, const RuleContext& context,
                        RegexBudget& regexes);
std::optional<Schedule> read_schedule(const SectionReader& reader);

// An entry of a descriptor, also in Envoy's files: its key, its value, and whether all values that
// match share one counter.
DescriptorEntry read_descriptor_entry(const SectionReader& reader);

// effect_config.cc: limits, tiers, lists, cost and denials, of a rule's own section.
void read_effects(const SectionReader& reader, const RuleContext& context, Rule& rule);

// The rollout in which the rule is. REQUIRES: its effects have been read
std::optional<Rollout> read_rollout(const SectionReader& reader, const Rule& rule);

// scope_config.cc: over which places the rule counts; false if it cannot so. REQUIRES: as
// check_enforcement()
bool read_scope(const SectionReader& reader, const RuleContext& context, Rule& rule);

// That the rule can be enforced as it says. REQUIRES: all else of it has been read
void check_enforcement(const SectionReader& reader, const RuleContext& context, Rule& rule);

// gateway_config.cc: what only a gateway can do, or cannot, of a rule's own section. Refuses each
// for those who cannot.
void read_gateway_effects(const SectionReader& reader, const RuleContext& context, Rule& rule);

// That nginx's workers can count by the algorithm that the section names, if they are to.
void check_algorithm(const SectionReader& reader, const RuleContext& context, Algorithm algorithm);

// That the rule can delay as its `on_deny` says.
void check_delay(const SectionReader& on_deny, const RuleContext& context, const Rule& rule);

// Calls `look` with the limits of the rule itself, and of each of its tiers and overrides.
template <typename Look>
void for_each_limits(const Rule& rule, Look look) {
  look(rule.own_limits());
  for (const auto* named : {&rule.tiers, &rule.overrides}) {
    for (const auto& [name, limits] : *named) look(std::span<const Quota>(limits));
  }
}

// Among the statuses that count it stands for a response that nobody has seen: its client has left,
// or the origin has not answered.
inline constexpr int kUnknownStatus = 0;

// Whether only a response says such a cost: "response:X-Cost", "response:json:usage.total_tokens",
// "usage", what vendors of language models report, or "usage:dollars", what that costs.
inline constexpr std::string_view kOfResponse = "response:";
inline constexpr std::string_view kUsage = "usage";
inline constexpr std::string_view kUsageDollars = "usage:dollars";
inline bool is_of_response(std::string_view cost) {
  return cost == kUsage || cost == kUsageDollars || cost.starts_with(kOfResponse);
}

// Reports a mistake at `place` if the file does not say where that property comes from.
void check_source(const KeyPart& part, const SectionReader& reader, const TextPlace& place,
                  const RuleContext& context);

// "there is no time zone 'Mars' in this system's tzdata; ..."
std::string no_such_zone(std::string_view name);

// "'10.1.2.3/8' is no network; ..."
std::string not_a_network(const YamlNode& text);

}  // namespace weir
