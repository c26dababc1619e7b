// RuleSet: the rules in force, compiled and immutable.
//
// A door asks it for a rule by id, for the rules that apply to a request, or for the
// one that a descriptor leads to. To change the rules a new set is made and swapped in
// whole, core by core; a request is decided by the set it started with.
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

// Memory for matching a request; reused, so that it allocates nothing.
struct MatchScratch {
  MatchedRules matched{};
  FactScratch facts;
  std::vector<int> regexes;
};

class RuleSet {
 public:
  RuleSet() = default;

  // REQUIRES: what descriptor_conflict() and the loader check (which has refused the file
  // otherwise): unique ids, unique descriptors, at most kGroupsMax groups.
  explicit RuleSet(std::vector<Rule> rules, RequestSources sources = {});
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  // Null if there is none. Valid as long as the set. Cost: one hash.
  const Rule* find(std::string_view id) const;

  // The enabled rules that apply to the request by its first path: the first of each group, in
  // the order of the file. Completes the request with what rules look at. The result and the
  // facts are in `scratch`, or in this. By `wall_time` tokens end and hours begin.
  std::span<const Rule*> match(Request& request, MatchScratch& scratch, Instant wall_time) const;

  // Calls `visit` with each rule that applies, for each reading of the path, while the request has
  // that path alone: the same rule may come again. Stops, and returns false, where `visit` does.
  // Leaves request and scratch as match() does.
  template <typename Visit>
  bool for_each_match(Request& request, MatchScratch& scratch, Instant wall_time,
                      Visit visit) const;

  const RequestNeeds& needs() const { return facts_.needs(); }

  // A header of the request that must not be repeated, and is: rules/request_facts.h.
  std::string_view repeated_header(const Request& request) const {
    return facts_.repeated_header(request);
  }

  // The rule that the descriptor leads to, even a disabled one; null if there is none.
  const Rule* match(const Descriptor& descriptor) const;
  bool has_domain(std::string_view domain) const;

  const std::vector<Rule>& rules() const { return rules_; }

 private:
  // REQUIRES: the request is complete, but for what follows from the path
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

// The id that `id` was perhaps meant to be; empty if none is near.
std::string_view nearest_rule_id(const RuleSet& rules, std::string_view id);

using RuleSetPtr = std::shared_ptr<const RuleSet>;

// The domain, and each entry's key and value: the same for two matches if no descriptor
// could tell them apart.
std::vector<std::string> descriptor_path(const DescriptorMatch& match);

// Two rules for one descriptor, as a sentence; nothing if there are none. Each is right by itself.
// Tested by src/config/envoy/envoy_config_test.cc.
std::optional<std::string> descriptor_conflict(std::span<const Rule> rules);

}  // namespace weir
