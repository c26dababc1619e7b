// CheckTerms: one check, ready to be decided: whose counter, which quota, what cost.
//
// The quota comes from the request itself or, if it names a rule, from the rule.
//
// Thread rule: values; valid as long as the body they came from and the rule set.
// Tested by http_problems_test.cc and http_check_test.cc.

#pragma once

#include <string_view>

#include "engine/asks.h"
#include "rules/rule_set.h"
#include "server/http/check_body.h"
#include "server/http/problem.h"

namespace weir {

struct CheckTerms {
  std::string_view key_json{};  // the key as the reply repeats it
  std::string_view policy{};    // the rule's id, or "default"
  Ask ask{};
};

Problem unknown_rule(std::string_view id, const RuleSet& rules);

// False if the check asks for what does not exist or cannot be enforced: `problem` says
// so, with its field as the check's own ("limit", not "checks[3].limit").
bool make_terms(const CheckSpec& spec, const RuleSet& rules, CheckTerms& terms, Problem& problem);

}  // namespace weir
