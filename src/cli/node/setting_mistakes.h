// setting_mistakes: what keeps a server from running with these settings, and with the files that
// they name beside rules.
//
// One list for `weir validate`, the start and each reload, so that none takes what another
// refuses. It changes nothing, and connects to nobody.
//
// Thread rule: any thread. Tested by config_files_test.cc and tests/e2e/refused_settings_test.py.

#pragma once

#include <vector>

#include "cli/node/settings.h"

namespace weir {

// At most one a setting.
std::vector<SettingMistake> setting_mistakes(const SettingValues& values);

}  // namespace weir
