// Tried rules: rules that somebody is still writing, tried on the asks that a node remembers. A dry
// run judges most of these rules (dry_run.h). Of the rest it says why it cannot.
//
// A dry run judges limits, and which keys they are for. The other fields of a rule decide which
// requests it counts, by which key, at which cost. If somebody changes them, or changed them
// lately, the memory does not hold the requests that the new fields would count. Limits of single
// keys (`overrides`) are judged on a node that shares no Redis: there keys keep their hashes.
//
// Thread rule: as dry_run.h. Tested by dry_run_test.cc.

#pragma once

#include <vector>

#include "config/rules/rule_sources.h"
#include "observe/keys/recent_asks.h"
#include "rulebook/dry_run.h"
#include "rulebook/rule_desk.h"
#include "rules/rule_set.h"
#include "weir/time.h"

namespace weir {

// As they are written, and as they were read.
struct TriedRules {
  std::vector<RuleSource> sources;
  std::vector<Rule> rules;
};
// The rules in force.
struct RulesBefore {
  const RuleSet& rules;
  const std::vector<RuleSource>& sources;
  const RuleHistory& history;
};

// Tries the trial's rule, or the first 16 rules of a file that differ from those in force.
std::vector<DryRun> dry_runs_of(const TriedRules& tried, const RulesBefore& before,
                                const RuleTrial& trial, const RecentAsks* memory, Instant now);

}  // namespace weir
