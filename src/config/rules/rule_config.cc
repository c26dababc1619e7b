#include "config/rules/rule_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "rules/rule_set.h"
#include "rules/traffic_rules.h"
#include "weir/store.h"

namespace weir {
namespace {

// The most limits that may apply to one key.
std::size_t limits_max(const Rule& rule) {
  std::size_t most = 1;
  for_each_limits(rule,
                  [&](std::span<const Quota> limits) { most = std::max(most, limits.size()); });
  return most;
}

// Finds mistakes that only show when all rules are seen together.
class RulesSeen {
 public:
  explicit RulesSeen(const SectionReader& file) : file_(file) {}

  RegexBudget& regexes() { return regexes_; }

  void check_id(const std::string& id, const TextPlace& place) {
    const auto [first, fresh] = ids_.emplace(id, place.line);
    if (fresh) return;
    file_.mistake(place, "duplicate rule id '" + id + "'; it is already used in line " +
                             std::to_string(first->second));
  }

  void check_group(const std::string& group, const TextPlace& place) {
    groups_.insert(group);
    if (groups_.size() <= kGroupsMax) return;
    file_.mistake(place, "more than " + std::to_string(kGroupsMax) +
                             " groups; a request is charged once for each, so join some");
  }

  // Each group may give a request one rule, and all limits of these rules are charged together.
  void check_limits(const Rule& rule, const TextPlace& place) {
    if (groups_.size() > kGroupsMax) return;
    std::size_t& most = limits_[rule.group];
    const std::size_t before = limits_together_;
    limits_together_ -= most;
    most = std::max(most, limits_max(rule));
    limits_together_ += most;
    if (limits_together_ <= Batch::kChargesMax || before > Batch::kChargesMax) return;
    file_.mistake(place, "the groups' rules have together up to " +
                             std::to_string(limits_together_) + " limits, and " +
                             std::to_string(Batch::kChargesMax) +
                             " at most apply to a request; join groups, or remove 'more_limits'");
  }

  void check_descriptor(const DescriptorMatch& match, const TextPlace& place) {
    const auto [first, fresh] = descriptors_.emplace(descriptor_path(match), place.line);
    if (fresh) return;
    file_.mistake(place, "duplicate descriptor; a rule for it is already in line " +
                             std::to_string(first->second));
  }

 private:
  const SectionReader& file_;
  std::map<std::string, std::size_t> ids_;
  std::map<std::vector<std::string>, std::size_t> descriptors_;
  std::set<std::string> groups_;
  std::map<std::string, std::size_t> limits_;  // by group, the most limits of one of its rules
  std::size_t limits_together_ = 0;
  RegexBudget regexes_;
};

DescriptorMatch read_descriptor(const SectionReader& reader) {
  DescriptorMatch match;
  reader.fill(match);
  if (reader.is_set("entries") && !reader.get<const YamlNode*>("entries")) {
    reader.mistake("entries", "'entries' is empty");
  }
  reader.for_each("entries", [&](const SectionReader& entry) {
    match.entries.push_back(read_descriptor_entry(entry));
  });
  if (match.entries.size() > Descriptor::kEntriesMax) {
    reader.mistake("entries", "more than " + std::to_string(Descriptor::kEntriesMax) + " entries");
  }
  return match;
}

// Whether the list has properties that a request may lack, and then the client.
bool takes_first(std::span<const KeyPart> parts) {
  if (parts.size() < 2 || parts.back().property != KeyPart::Property::kClient) return false;
  return std::ranges::all_of(parts.first(parts.size() - 1), &KeyPart::may_be_missing);
}

void read_key(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  for (const YamlNode* text : reader.texts("key")) {
    rule.key_parts.push_back(*parse_key_part(text->text));  // its form has been checked
    check_source(rule.key_parts.back(), reader, text->place, context);
  }
  if (takes_first(rule.key_parts)) rule.key_form = Rule::KeyForm::kFirst;
  if (!reader.is_set("missing") || !reader.valid()) return;
  const bool may_be_missing = std::ranges::any_of(rule.key_parts, &KeyPart::may_be_missing);
  if (may_be_missing && rule.key_form == Rule::KeyForm::kAll) return;
  reader.mistake("missing", may_be_missing
                                ? "'missing' is of no use where 'client' ends the list of 'key': "
                                  "it counts who lacks the others; remove one"
                                : "'missing' is only for a 'key' with a header, query, cookie or "
                                  "jwt in it; remove it");
}

void read_applications(const SectionReader& reader, const RuleContext& context, Rule& rule,
                       RulesSeen& seen) {
  if (const auto active = reader.section("active")) rule.active = read_schedule(*active);
  if (const auto match = reader.section("match")) {
    rule.match = read_match(*match, context, seen.regexes());
    seen.check_group(rule.group, reader.place_of(rule.group.empty() ? "match" : "group"));
  }
  read_key(reader, context, rule);
  if (const auto descriptor = reader.section("descriptor")) {
    rule.descriptor = read_descriptor(*descriptor);
    seen.check_descriptor(*rule.descriptor, reader.place_of("descriptor"));
  }
  for (const std::string_view field : {"key", "missing", "group", "tier", "cost"}) {
    if (rule.match || !reader.is_set(field)) continue;
    reader.mistake(field, "'" + std::string(field) +
                              "' is only for rules with 'match'; add 'match: {}' "
                              "for every request, or remove it");
  }
}

void read_notify_at(const SectionReader& reader, Rule& rule) {
  std::vector<std::uint8_t> percents;
  for (const YamlNode* text : reader.texts("notify_at")) {
    const auto percent =
        read_decimal<std::uint8_t>(std::string_view(text->text).substr(0, text->text.size() - 1))
            .value_or(0);
    if (std::ranges::find(percents, percent) != percents.end()) {
      reader.mistake(text->place, "'" + text->text + "' is in 'notify_at' already; remove one");
    } else if (percents.size() == Rule::kNotifyAtMax) {
      reader.mistake(text->place, "more than " + std::to_string(Rule::kNotifyAtMax) +
                                      " parts in 'notify_at'; remove one");
      return;
    } else {
      percents.push_back(percent);
    }
  }
  if (reader.get<const YamlNode*>("notify_at") && percents.empty()) {
    reader.mistake("notify_at", "'notify_at' names no part; write [80%, 100%], or remove it");
  }
  std::ranges::sort(percents);
  std::ranges::copy(percents, rule.notify_at.begin());
}

Rule read_rule(const SectionReader& reader, const RuleContext& context, RulesSeen& seen) {
  Rule rule;
  reader.fill(rule);
  if (!rule.id.empty()) seen.check_id(rule.id, reader.place_of("id"));
  if (reader.get<bool>("overdraft").value_or(false)) rule.overdraft = Rule::Overdraft::kAll;
  read_applications(reader, context, rule, seen);
  read_effects(reader, context, rule);
  read_notify_at(reader, rule);
  read_gateway_effects(reader, context, rule);
  if (read_scope(reader, context, rule)) check_enforcement(reader, context, rule);
  if (rule.tier) check_source(*rule.tier, reader, reader.place_of("tier"), context);
  if (rule.cost_from) check_source(*rule.cost_from, reader, reader.place_of("cost"), context);
  if (rule.match && !rule.shadow) seen.check_limits(rule, reader.place_of("match"));
  return rule;
}

RulePlaces places_in(const SectionReader& reader) {
  RulePlaces places{.rule = reader.place(), .fields = {}};
  for (const Field& field : kRuleSection.fields) {
    if (reader.is_set(field.name)) places.fields.emplace(field.name, reader.place_of(field.name));
  }
  const auto match = reader.get<const YamlNode*>("match");
  for (const auto& [key, value] : match ? (*match)->entries : std::vector<YamlNode::Entry>()) {
    places.fields.emplace("match." + key->text, key->place);
  }
  return places;
}

}  // namespace

DescriptorEntry read_descriptor_entry(const SectionReader& reader) {
  DescriptorEntry entry;
  reader.fill(entry);
  if (entry.shares && (!entry.value || entry.value->is_exact)) {
    reader.mistake("share_threshold",
                   "'share_threshold' is only for a value with '*' in it; remove one");
  }
  return entry;
}

ReadRules read_rules(const SectionReader& file, const RuleContext& context) {
  ReadRules read;
  RulesSeen seen(file);
  file.for_each("rules", [&](const SectionReader& reader) {
    const Rule& rule = read.rules.emplace_back(read_rule(reader, context, seen));
    if (auto rollout = read_rollout(reader, rule)) read.rollouts.emplace(rule.id, *rollout);
    read.places.push_back(places_in(reader));
  });
  return read;
}

}  // namespace weir
