// One rule becomes another, as a request wants it. Each throws a RuleRefusal.
//
// Thread rule: pure functions. Tested by rulebook_test.cc.

#pragma once

#include <string>
#include <vector>

#include "config/rules/rule_sources.h"

namespace weir {

// The rule with the fields of the patch, a JSON object (RFC 7396).
std::string patched(const std::string& rule_json, const std::string& patch_json);

// What is suspicious about the replacement of the whole rule: sentences.
std::vector<std::string> replacement_warnings(const RuleSource& known, const RuleSource& wanted);

}  // namespace weir
