#include "rules/rule_conflicts.h"

#include <map>
#include <vector>

namespace weir {
namespace {

// The same for two rules if no descriptor could tell them apart.
std::vector<std::string> path_of(const DescriptorMatch& match) {
  std::vector<std::string> path = {match.domain};
  for (const DescriptorEntry& entry : match.entries) {
    path.push_back(entry.key);
    path.push_back(entry.value ? "=" + entry.value->text : "");
  }
  return path;
}

}  // namespace

std::optional<std::string> descriptor_conflict(std::span<const Rule> rules) {
  std::map<std::vector<std::string>, const Rule*> seen;
  for (const Rule& rule : rules) {
    if (!rule.descriptor || rule.descriptor->entries.empty()) continue;
    const auto [first, fresh] = seen.emplace(path_of(*rule.descriptor), &rule);
    if (fresh) continue;
    return "the rules '" + first->second->id + "' and '" + rule.id +
           "' are for the same descriptor; remove one of them";
  }
  return std::nullopt;
}

}  // namespace weir
