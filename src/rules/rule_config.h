// Reads the rules of a configuration file.
//
// Thread rule: one thread. Tested by config_test.cc.

#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"
#include "rules/section_reader.h"
#include "rules/yaml_document.h"

namespace weir {

// Those without a mistake, in the order of the file. `place` is that of the list, `config`
// what the file says beside the rules.
std::vector<Rule> read_rules(const YamlNode& list, const TextPlace& place, const Config& config,
                             Mistakes& mistakes);

}  // namespace weir
