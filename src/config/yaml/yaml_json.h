// A YAML tree as JSON text, for values that are passed on and not looked at.
//
// Plain texts that JSON would read as a number, true, false or null are those; all
// others are strings. Keys are texts; of duplicates the last counts.
//
// Thread rule: pure. Tested by src/config/envoy/envoy_config_test.cc.

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/yaml/yaml_document.h"

namespace weir {

// Nothing if the tree has more than kJsonNodesMax nodes, aliases counted in full.
inline constexpr std::size_t kJsonNodesMax = 10'000;
std::optional<std::string> to_json(const YamlNode& node);

}  // namespace weir
