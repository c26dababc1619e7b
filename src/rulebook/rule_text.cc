#include "rulebook/rule_text.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <string_view>

#include "base/duration_text.h"
#include "weir/quota.h"

namespace weir {
namespace {

// The fields that describe() shows, and the id.
constexpr std::array<std::string_view, 6> kDescribed = {"id",     "algorithm", "limit",
                                                        "window", "burst",     "enabled"};

boost::json::object fields_of(std::string_view id, const DescribedRules& described) {
  const auto found = std::ranges::find(described.sources, id, &RuleSource::id);
  if (found == described.sources.end()) return {};
  return boost::json::parse(found->json).as_object();
}

// "match, key": of the first in its order, then those that only the second has.
std::string changed_fields(const boost::json::object& before, const boost::json::object& after) {
  std::string names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::count(kDescribed, name) > 0) return;
    names.append(names.empty() ? "" : ", ").append(name);
  };
  for (const auto& [name, value] : before) {
    const auto* now = after.if_contains(name);
    if (now == nullptr || *now != value) add(name);
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) add(name);
  }
  return names;
}

}  // namespace

std::string count_of(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string count_of(std::span<const Rule> rules) {
  const auto counts = [](const Rule& rule) { return rule.effect != Rule::Effect::kExempt; };
  return count_of(static_cast<std::size_t>(std::ranges::count_if(rules, counts)), "rule");
}

std::string describe(const Rule& rule) {
  const auto& quota = rule.quota;
  auto text = std::string(algorithm_name(quota.algorithm())) + " " + std::to_string(quota.limit()) +
              " per " + format_duration(quota.window());
  if (quota.capacity() != quota.limit()) text += ", burst " + std::to_string(quota.capacity());
  if (!rule.enabled) text += ", disabled";
  return text;
}

std::vector<std::string> describe_changes(const DescribedRules& before,
                                          const DescribedRules& after) {
  auto changes = std::vector<std::string>();
  for (const auto& rule : after.rules.rules()) {
    const auto* old = before.rules.find(rule.id);
    if (old == nullptr) {
      changes.push_back("added " + rule.id + ": " + describe(rule));
      continue;
    }
    const auto was = describe(*old);
    const auto now = describe(rule);
    const auto others = changed_fields(fields_of(rule.id, before), fields_of(rule.id, after));
    if (was != now) {
      const auto also = others.empty() ? "" : "; also " + others;
      changes.push_back("changed " + rule.id + ": " + was + ", now " + now + also);
    } else if (!others.empty()) {
      changes.push_back("changed " + rule.id + ": " + others);
    }
  }
  for (const auto& rule : before.rules.rules()) {
    if (after.rules.find(rule.id) == nullptr) changes.push_back("removed " + rule.id);
  }
  return changes;
}

}  // namespace weir
