// Turns a check from its body into an ask: the counter, the quota and the cost.
//
// The quota comes from the request itself or, if it names a rule, from the rule.
//
// Thread rule: pure. Tested by tests/scenarios/http_problems.yaml and http_check_test.cc.

#pragma once

#include <optional>
#include <string_view>

#include "engine/ask.h"
#include "proto/http/problem.h"
#include "rules/rule_set.h"
#include "server/http/check/check_body.h"

namespace weir {

Problem unknown_rule(std::string_view id, const RuleSet& rules);
// The problem if `rule` does not have the tier; nullopt if it has. A misspelt or empty tier would
// get the rule's own limits, and nobody would notice.
std::optional<Problem> unknown_tier(std::string_view tier, const Rule& rule);

// The ask's echo is the key as the reply repeats it. The ask refers to the body and the rule set.
// False if the check asks for something that does not exist or cannot be enforced. `problem` then
// says why; its field is the check's own ("limit", not "checks[3].limit").
bool make_ask(const CheckFields& fields, const RuleSet& rules, Ask& ask, Problem& problem);

}  // namespace weir
