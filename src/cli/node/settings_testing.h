// The settings of a command line, for tests.
//
// Thread rule: pure. Tested by settings_test.cc.

#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/node/settings.h"

namespace weir {

// Throws a CLI::Error where `weir serve` refuses.
inline SettingValues said(std::vector<std::string> arguments) {
  SettingValues settings;
  CLI::App command;
  add_setting_options(command, settings);
  std::ranges::reverse(arguments);  // CLI11's order
  command.parse(arguments);
  return settings;
}

}  // namespace weir
