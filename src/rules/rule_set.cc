#include "rules/rule_set.h"

#include <utility>

#include "base/assert.h"

namespace weir {

RuleSet::RuleSet(std::vector<Rule> rules) : rules_(std::move(rules)) {
  by_id_.reserve(rules_.size());
  for (const Rule& rule : rules_) {
    const bool fresh = by_id_.emplace(rule.id, &rule).second;
    WEIR_ASSERT(fresh);
  }
}

const Rule* RuleSet::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

}  // namespace weir
