// Finds rules that are right by themselves and wrong together.
//
// Thread rule: pure. Tested by src/config/envoy/envoy_config_test.cc.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rules/rule.h"

namespace weir {

// The domain, and each entry's key and value: the same for two matches if no descriptor
// could tell them apart.
std::vector<std::string> descriptor_path(const DescriptorMatch& match);

// Two rules for one descriptor, as a sentence; nothing if there are none.
std::optional<std::string> descriptor_conflict(std::span<const Rule> rules);

}  // namespace weir
