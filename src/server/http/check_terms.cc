#include "server/http/check_terms.h"

#include <string>

namespace weir {
namespace {

constexpr std::string_view kDefaultPolicy = "default";

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

bool make_terms(const CheckSpec& spec, const RuleSet& rules, CheckTerms& terms, Problem& problem) {
  terms = {.key_json = spec.key_json,
           .policy = kDefaultPolicy,
           .ask = {.bucket = spec.bucket, .key = spec.key, .cost = spec.cost, .mode = spec.mode}};
  if (spec.has(CheckField::kRule)) {
    terms.ask.rule = rules.find(spec.rule);
    if (terms.ask.rule == nullptr) {
      problem = unknown_rule(spec.rule, rules);
      return false;
    }
    terms.policy = terms.ask.rule->id;
    terms.ask.tier = spec.tier;
    return true;
  }
  const auto quota = Quota::make({.algorithm = spec.algorithm,
                                  .limit = spec.limit,
                                  .window = spec.window,
                                  .burst = spec.burst});
  if (!quota) {
    problem = invalid_field(quota.error().field, quota.error().expected);
    return false;
  }
  terms.ask.quota = *quota;
  return true;
}

}  // namespace weir
