// Reads from the settings which header fields a configuration wants.
//
// Thread rule: pure. Tested by src/cli/node/settings_test.cc.

#pragma once

#include "config/settings.h"
#include "proto/http/rate_limit_headers.h"

namespace weir {

RateLimitStyle header_settings(const ServerSettings& settings);

}  // namespace weir
