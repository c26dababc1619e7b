// Rules as bytes (base/packed.h), for hosts that read no configuration: the Worker's module.
//
// Rules are packed in their compiled form, with values as the server read them. The bytes say which
// requests a rule is for, their keys and limits, and what a denial answers. They have no
// expressions, no claims, and nothing that only a server or a gateway does: cli/export.cc refuses
// such rules.
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

// Returns nothing if packed_rules() did not write the bytes.
std::optional<std::vector<Rule>> unpacked_rules(std::string_view bytes);

}  // namespace weir
