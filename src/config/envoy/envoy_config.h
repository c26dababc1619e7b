// Reads the YAML of Envoy's reference rate limit service, unchanged, into rules.
//
// Its users' files behave as they do there: nested descriptors, values with '*', replaces,
// shadow_mode, quota_mode, unlimited, share_threshold, metadata; windows from the epoch, a month of
// 30 days. Unknown keys refuse the file, as there. A descriptor may have more fields than
// rate_limit: `algorithm`, `window` (instead of rate_limit.unit) and `burst`.
//
// A rule's id is the path to it: "edge/path=/login/remote_address" in the domain edge, with '%',
// '/' and '=' inside a name as %25, %2F and %3D. Each of these ids has a '/', and no id of a
// configuration file has one.
//
// Thread rule: pure functions. Tested by envoy_config_test.cc.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "rules/rule.h"
#include "weir/result.h"

namespace weir {

// Reads one file, which has one domain. `file` is only a name, for errors. Limits that name no
// algorithm have `algorithm`.
Result<std::vector<Rule>, ConfigErrors> parse_envoy_config(std::string_view text,
                                                           const std::string& file,
                                                           Algorithm algorithm);

// Reads a file, or all *.yaml and *.yml files of a folder in the order of their names. The same
// domain in two files is a mistake.
Result<std::vector<Rule>, ConfigErrors> load_envoy_config(const std::string& path,
                                                          Algorithm algorithm);

}  // namespace weir
