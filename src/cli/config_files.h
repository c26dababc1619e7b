// The files that a server reads: its own configuration and those of Envoy's reference
// rate limit service, whose rules join its own.
//
// Thread rule: one thread. Tested by config_files_test.cc.

#pragma once

#include <string>
#include <variant>

#include "cli/settings.h"
#include "rules/config.h"

namespace weir {

// The configuration with all rules in it; what the command line says of Envoy wins.
// The empty configuration without a file.
std::variant<Config, ConfigErrors> load_config_files(const ServeOptions& options);

// "weir.yaml and ratelimit.yaml"; empty if there are none.
std::string describe_config_files(const ServeOptions& options, const EnvoySettings& envoy);

}  // namespace weir
