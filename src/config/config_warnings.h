// config_warnings() finds what a configuration says and probably does not mean: rules that
// never apply, limits that all clients share, and trust in what anybody can send.
//
// Thread rule: pure. Tested by config_test.cc and the files in testdata/warned.

#pragma once

#include <string>

#include "config/config.h"

namespace weir {

// In the order of the file; `file` is only a name. REQUIRES: `config` is as it was read.
ConfigErrors config_warnings(const Config& config, const std::string& file);

}  // namespace weir
