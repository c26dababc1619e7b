// RuleSet: the rules in force, compiled and immutable.
//
// A door asks it for a rule by id, for the rules that apply to a request, or for the rule of a
// descriptor. To change rules, a new set is made and each core swaps it in whole. A request is
// decided by the set with which it began.
//
// Thread rule: immutable after construction. Tested by rule_set_test.cc, traffic_rules_test.cc and
// descriptor_tree_test.cc.

#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/descriptor_tree.h"
#include "rules/request/request.h"
#include "rules/request_facts.h"
#include "rules/rule.h"
#include "rules/traffic_rules.h"
#include "weir/time.h"

namespace weir {

// Memory for matching a request; reused, so that matching allocates nothing.
struct MatchScratch {
  MatchedRules matched{};
  FactScratch facts;
  std::vector<int> regexes;
};

class RuleSet {
 public:
  RuleSet() = default;

  // REQUIRES: unique ids, unique descriptors, at most kGroupsMax groups. The loader and
  // descriptor_conflict() have refused other files.
  explicit RuleSet(std::vector<Rule> rules, RequestSources sources = {});
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  // Null if there is no such rule. Valid as long as the set. Cost: one hash.
  const Rule* find(std::string_view id) const;

  // The enabled rules that apply to the request by its first path: the first rule of each group, in
  // the order of the file. Completes the request with the facts that rules read. The result and the
  // facts are in `scratch`, or in this. `wall_time` is for dates of tokens and for hours of rules.
  std::span<const Rule*> match(Request& request, MatchScratch& scratch, Instant wall_time) const;

  // For each reading of the path: gives the request only this path, and calls `visit` with each
  // rule that applies; a rule may come again. If `visit` returns false, stops and returns false.
  // Leaves request and scratch as match() does.
  template <typename Visit>
  bool for_each_match(Request& request, MatchScratch& scratch, Instant wall_time,
                      Visit visit) const;

  const RequestNeeds& needs() const { return facts_.needs(); }

  // A header of the request that is repeated but must not be: rules/request_facts.h.
  std::string_view repeated_header(const Request& request) const {
    return facts_.repeated_header(request);
  }

  // The rule of the descriptor, even if it is disabled; null if there is none.
  const Rule* match(const Descriptor& descriptor) const;
  bool has_domain(std::string_view domain) const;

  const std::vector<Rule>& rules() const { return rules_; }

 private:
  // REQUIRES: the request is complete, except for facts that follow from the path
  std::span<const Rule*> match_path(std::string_view path, Request& request, MatchScratch& scratch,
                                    Instant wall_time) const;

  std::vector<Rule> rules_;
  std::unordered_map<std::string_view, const Rule*> by_id_;  // views into rules_
  RequestFacts facts_;
  TrafficRules traffic_;
  DescriptorTree descriptors_;
};

template <typename Visit>
bool RuleSet::for_each_match(Request& request, MatchScratch& scratch, Instant wall_time,
                             Visit visit) const {
  const auto visit_all = [&](std::span<const Rule*> matched) {
    return std::ranges::all_of(matched, [&](const Rule* rule) { return visit(*rule); });
  };
  bool goes_on = visit_all(match(request, scratch, wall_time));
  if (request.other_paths.empty()) return goes_on;
  const std::string_view first = request.path;
  for (const std::string_view path : request.other_paths) {
    if (goes_on) goes_on = visit_all(match_path(path, request, scratch, wall_time));
  }
  match_path(first, request, scratch, wall_time);
  return goes_on;
}

// The id that `id` was probably meant to be; empty if none is near.
std::string_view nearest_rule_id(const RuleSet& rules, std::string_view id);

using RuleSetPtr = std::shared_ptr<const RuleSet>;

// The domain, and each entry's key and value. Two matches have the same path if no descriptor can
// tell them apart.
std::vector<std::string> descriptor_path(const DescriptorMatch& match);

// A sentence about two rules with the same descriptor; nothing if there are none. Each rule is
// right by itself. Tested by src/config/envoy/envoy_config_test.cc.
std::optional<std::string> descriptor_conflict(std::span<const Rule> rules);

}  // namespace weir
