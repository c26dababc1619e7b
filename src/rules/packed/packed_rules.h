// Rules as bytes (base/packed.h), for hosts that read no configuration: the Worker's module.
//
// Rules are packed as they are compiled: a value is there what the server took it for. Of a rule
// all is there that says which requests it is for, their keys and limits, and what a denial
// answers. Expressions, claims and what only a server or a gateway does is not: cli/export.cc
// refuses rules that have it.
//
// Thread rule: pure. Tested by packed_rules_test.cc and fuzz/packed_fuzz.cc.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace weir {

std::string packed_rules(std::span<const Rule> rules);

// Nothing if the bytes are not what packed_rules() writes.
std::optional<std::vector<Rule>> unpacked_rules(std::string_view bytes);

}  // namespace weir
