#include "engine/ask.h"

namespace weir {

bool presses_more(const Decision& one, const Decision& other) {
  if (one.allowed() != other.allowed()) return !one.allowed();
  if (one.allowed()) return one.remaining < other.remaining;
  if (one.verdict != other.verdict) return one.verdict == Verdict::kNever;
  return one.retry_after > other.retry_after;
}

void number_rules(std::vector<Rule>& rules, RuleCounts& counts) {
  for (Rule& rule : rules) rule.number = counts.number_of(rule.id);
}

}  // namespace weir
