// Reads files into memory: bounded, and never waiting for ever.
//
// Thread rule: any thread. Tested by config_test.cc.

#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include "config/config.h"
#include "weir/result.h"

namespace weir {

// All bytes of the file, and of a longer one `bytes_max` and one more. A FIFO is read to its
// end, or is an error if it is silent for ten seconds; one that nobody writes to is empty.
Result<std::string, std::error_code> read_file(const std::string& path, std::size_t bytes_max);

// A configuration. The parser refuses one that is longer than a YAML document may be.
Result<std::string, ConfigErrors> read_config_file(const std::string& path);

}  // namespace weir
