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

// `file` is the reader of the whole file.
ReadRules read_rules(const SectionReader& file, const RuleContext& context);

// Parts of a rule; each function reads its own section. match_config.cc: the rule's conditions.
RequestMatch read_match(const SectionReader& reader, const RuleContext& context,
                        RegexBudget& regexes);
std::optional<Schedule> read_schedule(const SectionReader& reader);

// Reads an entry of a descriptor, also from Envoy's files: its key, its value, and whether all
// values that match share one counter.
DescriptorEntry read_descriptor_entry(const SectionReader& reader);

// effect_config.cc: limits, tiers, lists, cost and denials, from the rule's own section.
void read_effects(const SectionReader& reader, const RuleContext& context, Rule& rule);

// Reads the rule's rollout. REQUIRES: the rule's effects have been read
std::optional<Rollout> read_rollout(const SectionReader& reader, const Rule& rule);

// scope_config.cc: reads over which places the rule counts. False if it cannot count so.
// REQUIRES: as for check_enforcement()
bool read_scope(const SectionReader& reader, const RuleContext& context, Rule& rule);

// Checks that the rule can be enforced. REQUIRES: all other parts of the rule have been read
void check_enforcement(const SectionReader& reader, const RuleContext& context, Rule& rule);

// gateway_config.cc: reads fields of the rule's own section that only a gateway can apply, or
// cannot. Refuses each where it cannot be applied.
void read_gateway_effects(const SectionReader& reader, const RuleContext& context, Rule& rule);

// Checks that nginx's workers can count by the section's algorithm, if they are to count.
void check_algorithm(const SectionReader& reader, const RuleContext& context, Algorithm algorithm);

// Checks that the rule can delay as its `on_deny` says.
void check_delay(const SectionReader& on_deny, const RuleContext& context, const Rule& rule);

// Calls `look` with the limits of the rule itself, and of each of its tiers and overrides.
template <typename Look>
void for_each_limits(const Rule& rule, Look look) {
  look(rule.own_limits());
  for (const auto* named : {&rule.tiers, &rule.overrides}) {
    for (const auto& [name, limits] : *named) look(std::span<const Quota>(limits));
  }
}

// A status that stands for a response that nobody has seen: its client left, or the origin did not
// answer.
inline constexpr int kUnknownStatus = 0;

// The costs that only a response says: "response:X-Cost", "response:json:usage.total_tokens",
// "usage" (what vendors of language models report), or "usage:dollars" (what that costs).
inline constexpr std::string_view kOfResponse = "response:";
inline constexpr std::string_view kUsage = "usage";
inline constexpr std::string_view kUsageDollars = "usage:dollars";
inline bool is_of_response(std::string_view cost) {
  return cost == kUsage || cost == kUsageDollars || cost.starts_with(kOfResponse);
}

// Reports a mistake at `place` if the file does not name the source of that property.
void check_source(const KeyPart& part, const SectionReader& reader, const TextPlace& place,
                  const RuleContext& context);

// "there is no time zone 'Mars' in this system's tzdata; ..."
std::string no_such_zone(std::string_view name);

// "'10.1.2.3/8' is no network; ..."
std::string not_a_network(const YamlNode& text);

}  // namespace weir
