// RuleSet: the rules in force, compiled and immutable.
//
// A door asks it for a rule by id. To change the rules a new set is made and swapped
// in whole, core by core; a request is decided by the set it started with.
//
// Thread rule: immutable after construction. Tested by rule_set_test.cc.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/quota.h"

namespace weir {

struct Rule {
  std::string id;
  Quota quota;
  bool enabled = true;  // a disabled rule allows everything and counts nothing
};

class RuleSet {
 public:
  RuleSet() = default;

  // REQUIRES: ids are unique (the loader has refused the file otherwise).
  explicit RuleSet(std::vector<Rule> rules);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  // Null if there is none. Valid as long as the set. Cost: one hash.
  const Rule* find(std::string_view id) const;

  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
  std::unordered_map<std::string_view, const Rule*> by_id_;  // views into rules_
};

using RuleSetPtr = std::shared_ptr<const RuleSet>;

}  // namespace weir
