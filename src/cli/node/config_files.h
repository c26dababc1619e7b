// The files that a server reads: its own configuration and those of Envoy's reference rate limit
// service, whose rules join its own. Also checks whether a server can run with them.
//
// Thread rule: one thread. Tested by config_files_test.cc and tests/e2e/refused_settings_test.py.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/node/settings.h"
#include "config/config.h"
#include "weir/result.h"

namespace weir {

// As load_config(), and checks the URL of the Redis, which src/config cannot.
Result<Config, ConfigErrors> load_whole_config(const std::string& file,
                                               ServedBy served_by = ServedBy::kServer);

// The configuration with all rules and settings; the command line wins over the file. A server can
// run with the result.
Result<Config, ConfigErrors> load_config_files(const ServeOptions& options);

// Changes with the text of any of these files, or of the files in these folders.
std::uint64_t fingerprint(std::span<const std::string> paths);

// "weir.yaml and ratelimit.yaml"; empty if there are no files.
std::string describe_config_files(const ServeOptions& options, const SettingValues& settings);

}  // namespace weir
