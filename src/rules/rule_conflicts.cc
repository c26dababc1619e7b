#include "rules/rule_conflicts.h"

#include <map>

namespace weir {

std::vector<std::string> descriptor_path(const DescriptorMatch& match) {
  std::vector<std::string> path = {match.domain};
  for (const DescriptorEntry& entry : match.entries) {
    path.push_back(entry.key);
    path.push_back(entry.value ? "=" + entry.value->text : "");
  }
  return path;
}

std::optional<std::string> descriptor_conflict(std::span<const Rule> rules) {
  std::map<std::vector<std::string>, const Rule*> seen;
  for (const Rule& rule : rules) {
    if (!rule.descriptor || rule.descriptor->entries.empty()) continue;
    const auto [first, fresh] = seen.emplace(descriptor_path(*rule.descriptor), &rule);
    if (fresh) continue;
    return "the rules '" + first->second->id + "' and '" + rule.id +
           "' are for the same descriptor; remove one of them";
  }
  return std::nullopt;
}

}  // namespace weir
