// Reads a file of configuration into memory.
//
// Thread rule: any thread. Tested by config_test.cc.

#pragma once

#include <string>
#include <variant>

#include "config/config.h"

namespace weir {

// At most one byte more than a YAML document may have, so that its parser refuses a file
// that is longer.
std::variant<std::string, ConfigErrors> read_config_file(const std::string& path);

}  // namespace weir
