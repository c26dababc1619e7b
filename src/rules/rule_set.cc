#include "rules/rule_set.h"

#include <utility>

#include "base/assert.h"
#include "base/nearest_name.h"

namespace weir {

RuleSet::RuleSet(std::vector<Rule> rules, RequestSources sources)
    : rules_(std::move(rules)),
      facts_(rules_, std::move(sources)),
      traffic_(rules_),
      descriptors_(rules_) {
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

std::span<const Rule*> RuleSet::match(Request& request, MatchScratch& scratch,
                                      Instant wall_time) const {
  facts_.complete(request, scratch.facts, wall_time);
  return traffic_.match(request, scratch.matched, scratch.regexes, wall_time);
}

std::span<const Rule*> RuleSet::match_path(std::string_view path, Request& request,
                                           MatchScratch& scratch, Instant wall_time) const {
  request.path = path;
  facts_.complete_path(request, scratch.facts);
  return traffic_.match(request, scratch.matched, scratch.regexes, wall_time);
}

const Rule* RuleSet::match(const Descriptor& descriptor) const {
  return descriptors_.find(descriptor);
}

bool RuleSet::has_domain(std::string_view domain) const { return descriptors_.has_domain(domain); }

std::string_view nearest_rule_id(const RuleSet& rules, std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Rule& rule : rules.rules()) ids.push_back(rule.id);
  return nearest_name(id, ids);
}

}  // namespace weir
