// What a command line sets, for tests.
//
// Thread rule: pure. Tested by settings_test.cc.

#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/node/settings.h"

namespace weir {

// Throws a CLI::Error for what `weir serve` refuses.
inline SettingValues said(std::vector<std::string> arguments) {
  SettingValues settings;
  CLI::App command;
  add_setting_options(command, settings);
  std::ranges::reverse(arguments);  // as CLI11 wants them
  command.parse(arguments);
  return settings;
}

}  // namespace weir
