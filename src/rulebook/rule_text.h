// Rules in words, for logs: their limits, and what a reload changed.
//
// Thread rule: pure functions. Tested by rule_text_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules/rule_sources.h"
#include "rules/rule_set.h"

namespace weir {

// "1 rule", "3 rules"
std::string count_of(std::size_t count, std::string_view what);

// The same of these rules, without those that only shield a value of Envoy's files from limits.
std::string count_of(std::span<const Rule> rules);

// "sliding_window 5 per 1m", "token_bucket 10 per 1s, burst 20, disabled"
std::string describe(const Rule& rule);

// Rules as they are in force and as they were written; those of Envoy's files have no source.
struct DescribedRules {
  const RuleSet& rules;
  std::span<const RuleSource> sources;
};

// One line a change, in the order of the files: "added login: sliding_window 5 per 1m", "removed
// search", "changed login: match, key". A changed limit is "changed login: sliding_window 5 per 1m,
// now sliding_window 6 per 1m". Fields other than the limit appear by name only.
std::vector<std::string> describe_changes(const DescribedRules& before,
                                          const DescribedRules& after);

}  // namespace weir
