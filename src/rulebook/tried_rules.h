// Tried rules: what somebody is still writing, tried on what a node remembers. A dry run judges
// some of them (dry_run.h); of the others it says why it does not know.
//
// A dry run judges limits. What else a rule says decides which requests come, under which keys and
// with which costs. If that is otherwise, or was a while ago, the memory does not know them.
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

// Of the trial's rule; of a file the first 16 rules that are others than those in force.
std::vector<DryRun> dry_runs_of(const TriedRules& tried, const RulesBefore& before,
                                const RuleTrial& trial, const RecentAsks* memory, Instant now);

}  // namespace weir
