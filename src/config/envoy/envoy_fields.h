// The fields of the reference service's YAML, and ours beside them, as a table.
//
// Thread rule: constants. Tested by envoy_config_test.cc.

#pragma once

#include "config/fields/fields.h"

namespace weir {

extern const Section kEnvoyFileSection;
extern const Section kEnvoyDescriptorSection;  // holds itself

}  // namespace weir
