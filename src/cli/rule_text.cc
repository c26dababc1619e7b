#include "cli/rule_text.h"

#include "base/duration_text.h"
#include "weir/quota.h"

namespace weir {

std::string count_rules(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " rule" : " rules");
}

std::string describe(const Rule& rule) {
  const auto& quota = rule.quota;
  auto text = std::string(algorithm_name(quota.algorithm())) + " " + std::to_string(quota.limit()) +
              " per " + format_duration(quota.window());
  if (quota.capacity() != quota.limit()) text += ", burst " + std::to_string(quota.capacity());
  if (!rule.enabled) text += ", disabled";
  return text;
}

std::vector<std::string> describe_changes(const RuleSet& before, const RuleSet& after) {
  auto changes = std::vector<std::string>();
  for (const auto& rule : after.rules()) {
    const auto* old = before.find(rule.id);
    const auto now = describe(rule);
    if (old == nullptr) {
      changes.push_back("added " + rule.id + ": " + now);
    } else if (const auto was = describe(*old); was != now) {
      auto& change = changes.emplace_back("changed ");
      change.append(rule.id).append(": ").append(was).append(", now ").append(now);
    }
  }
  for (const auto& rule : before.rules()) {
    if (after.find(rule.id) == nullptr) changes.push_back("removed " + rule.id);
  }
  return changes;
}

}  // namespace weir
