// Reads the rules of a configuration file.
//
// Thread rule: one thread. Tested by src/config/config_test.cc.

#pragma once

#include <string>
#include <vector>

#include "config/section_reader.h"
#include "config/yaml/yaml_document.h"
#include "rules/rule.h"

namespace weir {

// Adds those without a mistake, and where they stand, to `config`, which holds what the file
// says beside the rules. `file` reads the whole file.
void read_rules(const SectionReader& file, Config& config);

}  // namespace weir
