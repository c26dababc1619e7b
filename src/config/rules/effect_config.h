// Reads what a rule of a configuration file does: limits, tiers, lists, denials.
//
// Thread rule: one thread. Tested by src/config/config_test.cc.

#pragma once

#include "config/section_reader.h"
#include "rules/rule.h"

namespace weir {

// Fills in all of `rule` that is about its effects. REQUIRES: `reader` is a rule's.
void read_effects(const SectionReader& reader, Rule& rule);

}  // namespace weir
