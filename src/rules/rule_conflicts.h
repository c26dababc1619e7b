// What is wrong with rules that come from several files and are each right.
//
// Thread rule: pure. Tested by envoy_config_test.cc.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "rules/rule.h"

namespace weir {

// Two rules for one descriptor, as a sentence; nothing if there are none.
std::optional<std::string> descriptor_conflict(std::span<const Rule> rules);

}  // namespace weir
