// What a rule that applies to a request wants decided: which key, tier and cost.
//
// Thread rule: pure. Tested by src/server/http/check/http_auth_test.cc.

#pragma once

#include <string>

#include "engine/asks.h"
#include "rules/rule_set.h"

namespace weir {

// Refers to the rule, the request and the two scratches.
Ask ask_about(const Rule& rule, const Request& request, std::string& key, PartScratch& tier);

}  // namespace weir
