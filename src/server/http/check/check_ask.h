// A check as its body describes it, made into an ask: whose counter, which quota, what cost.
//
// The quota comes from the request itself or, if it names a rule, from the rule.
//
// Thread rule: pure. Tested by tests/scenarios/http_problems.yaml and http_check_test.cc.

#pragma once

#include <optional>
#include <string_view>

#include "engine/ask.h"
#include "rules/rule_set.h"
#include "server/http/check/check_body.h"
#include "server/http/problem.h"

namespace weir {

Problem unknown_rule(std::string_view id, const RuleSet& rules);
// For a tier that `rule` does not have; nothing if it has. One that is misspelt or empty would have
// the rule's own limits, and nobody would notice.
std::optional<Problem> unknown_tier(std::string_view tier, const Rule& rule);

// The ask's echo is the key as the reply repeats it. It refers to the body and the rule set.
// False if the check asks for what does not exist or cannot be enforced: `problem` says
// so, with its field as the check's own ("limit", not "checks[3].limit").
bool make_ask(const CheckSpec& spec, const RuleSet& rules, Ask& ask, Problem& problem);

}  // namespace weir
