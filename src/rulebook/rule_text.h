// Rules in words, for logs, events and the history: their limits, what a change does to them, and
// who wants it.
//
// Thread rule: pure functions. Tested by rule_text_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/rules/rule_sources.h"
#include "rulebook/rule_author.h"
#include "rules/rule_set.h"

namespace weir {

// For looking up many. Views of `sources`.
using TextsById = std::unordered_map<std::string_view, std::string_view>;
TextsById texts_by_id(std::span<const RuleSource> sources);

// "1 rule", "3 rules"
std::string count_of(std::size_t count, std::string_view what);

// The same of these rules, without those that only shield a value of Envoy's files from limits.
std::string count_of(std::span<const Rule> rules);

// "sliding_window 5 per 1m", "token_bucket 10 per 1s, burst 20, disabled"
std::string describe(const Rule& rule);
std::string describe(const Quota& quota);

// Rules as they are in force and as they were written; those of Envoy's files have no source.
struct DescribedRules {
  const RuleSet& rules;
  std::span<const RuleSource> sources;
};

// One line a change, in the order of the files: "added login: sliding_window 5 per 1m", "removed
// search", "changed login: shadow on, key from client to host, match". A changed limit is "changed
// login: sliding_window 5 per 1m, now sliding_window 6 per 1m". Long values appear by name only. If
// rules apply in another order, the first that does is "reordered: all is before admin".
std::vector<std::string> describe_changes(const DescribedRules& before,
                                          const DescribedRules& after);
// Whether one of these lines is about the rule.
bool is_about(std::string_view change, std::string_view id);

// "\"carol\" at 192.0.2.1"
std::string describe(const RuleAuthor& author);
// ", because \"many bots\""; empty if they do not say.
std::string reason_of(const RuleAuthor& author);

}  // namespace weir
