// The fields of the reference service's YAML, and ours beside them, as a table.
//
// Thread rule: constants. Tested by envoy_config_test.cc.

#pragma once

#include "config/config_fields.h"

namespace weir {

const Section& envoy_file_section();
const Section& envoy_descriptor_section();
const Section& envoy_rate_limit_section();
const Section& envoy_replace_section();

}  // namespace weir
