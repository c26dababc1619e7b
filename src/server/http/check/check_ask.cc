#include "server/http/check/check_ask.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest_name.h"

namespace weir {
namespace {

constexpr std::size_t kTiersShown = 20;

Problem needs_acquire() {
  return invalid_field("rule",
                       "a rule that counts requests, as slots of this one are taken by POST "
                       "/v1/acquire and given back by POST /v1/release");
}

}  // namespace

Problem unknown_rule(std::string_view id, const RuleSet& rules) {
  std::string detail = "There is no rule with this id";
  const std::string_view nearest = nearest_rule_id(rules, id);
  if (rules.rules().empty()) {
    detail += "; there are no rules at all.";
  } else if (nearest.empty()) {
    detail += "; GET /admin/stats lists those in force.";
  } else {
    detail += "; did you mean '" + std::string(nearest) + "'?";
  }
  return {.kind = ProblemKind::kUnknownRule,
          .status = 404,
          .detail = std::move(detail),
          .field = "rule",
          .expected = nearest.empty() ? std::string("the id of a rule") : std::string(nearest)};
}

std::optional<Problem> unknown_tier(std::string_view tier, const Rule& rule) {
  if (rule.tiers.contains(tier)) return std::nullopt;
  if (rule.tiers.empty()) return invalid_field("tier", "none, since the rule has no tiers");
  std::vector<std::string_view> names;
  for (const auto& [name, limits] : rule.tiers) names.push_back(name);
  std::ranges::sort(names);
  std::string_view nearest = nearest_name(tier, names);
  if (names.size() > kTiersShown) names.resize(kTiersShown);
  if (!nearest.empty()) names.assign(1, nearest);
  Problem problem = invalid_field("tier", expected_name(tier, names));
  problem.detail = "tier: the rule has no such tier; " + name_hint(tier, names);
  if (tier.empty()) problem.detail += ", or no 'tier' for the rule's own limits";
  return problem;
}

bool make_ask(const CheckFields& fields, const RuleSet& rules, Ask& ask, Problem& problem) {
  ask.bucket = fields.bucket;
  ask.key = fields.key;
  ask.cost = fields.resets ? 0 : fields.cost;
  ask.counting = fields.counting;
  ask.mode = fields.mode;
  ask.echo = fields.key_json;
  if (fields.has(CheckField::kRule)) {
    ask.rule = rules.find(fields.rule);
    ask.tier = fields.tier;
    if (ask.rule == nullptr) {
      problem = unknown_rule(fields.rule, rules);
      return false;
    }
    if (ask.rule->has_slots()) {
      problem = needs_acquire();
      return false;
    }
    auto mistake =
        fields.has(CheckField::kTier) ? unknown_tier(fields.tier, *ask.rule) : std::nullopt;
    if (mistake) problem = std::move(*mistake);
    return !mistake;
  }
  const auto quota = Quota::make({.algorithm = fields.algorithm,
                                  .limit = fields.limit,
                                  .window = fields.window,
                                  .burst = fields.burst});
  if (!quota) {
    problem = invalid_field(quota.error().field, quota.error().expected);
    return false;
  }
  ask.quota = *quota;
  return true;
}

}  // namespace weir
