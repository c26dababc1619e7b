// ConfigError: a mistake in a file, or on the command line, with its place.
//
// Thread rule: values. Tested by src/config/config_test.cc.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir {

struct ConfigError {
  std::string file;        // empty: the command line's mistake
  std::size_t line = 0;    // from 1; 0 when the file could not be read at all
  std::size_t column = 0;  // from 1, in bytes
  std::string message;     // what is wrong and what would be right

  // "rules.yaml:4:7: unknown key 'limt'; did you mean 'limit'?"
  std::string to_string() const {
    if (file.empty()) return message;
    if (line == 0) return file + ": " + message;
    return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
  }
};

// In the order of the file. Never empty when returned, and never endless: beyond
// kConfigErrorsMax one last entry says that there are more.
using ConfigErrors = std::vector<ConfigError>;
inline constexpr std::size_t kConfigErrorsMax = 100;

}  // namespace weir
