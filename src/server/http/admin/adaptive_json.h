// What adaptive rules follow, in JSON: the same on every page.
//
// Thread rule: any thread. Tested by http_adaptive_test.cc.

#pragma once

#include <string_view>

#include "engine/adaptive/rule_switches.h"
#include "proto/json_writer.h"
#include "rules/rule_set.h"
#include "weir/time.h"

namespace weir {

// The object behind "following": the algorithm, and if the rule has ever switched, the number of
// the switch, how long ago it was, and why. `switches` may be null.
void write_following(JsonWriter& json, const RuleSwitches* switches, std::string_view rule,
                     Instant now);

// The array behind "switches": the last switch of each of these rules that has ever switched, and
// that of checks without a rule.
void write_switches(JsonWriter& json, const RuleSwitches* switches, const RuleSet& rules,
                    Instant now);

}  // namespace weir
