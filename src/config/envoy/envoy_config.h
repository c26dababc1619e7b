// Reads the YAML of Envoy's reference rate limit service, as it is, into rules.
//
// Its users' files behave as they know them: nested descriptors, values with '*', replaces,
// shadow_mode, quota_mode, unlimited, share_threshold, metadata; windows from the epoch, a month of
// 30 days. Unknown keys refuse the file, as they do there. In addition to rate_limit a descriptor
// may say more: `algorithm`, `window` (instead of rate_limit.unit) and `burst`.
//
// Ids of these rules are the way to them: "edge/path=/login/remote_address" for the
// domain edge, with '%', '/' and '=' inside a name as %25, %2F and %3D. A '/' is in all
// of them, and in no id of a configuration file.
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

// One file, which has one domain. `file` is only a name, for the errors. `algorithm` is
// that of limits that don't name one.
Result<std::vector<Rule>, ConfigErrors> parse_envoy_config(std::string_view text,
                                                           const std::string& file,
                                                           Algorithm algorithm);

// A file, or all *.yaml and *.yml files of a folder in the order of their names. A domain
// in two of them is a mistake.
Result<std::vector<Rule>, ConfigErrors> load_envoy_config(const std::string& path,
                                                          Algorithm algorithm);

}  // namespace weir
