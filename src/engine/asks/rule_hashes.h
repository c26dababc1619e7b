// RuleHashes: a rule set, and a hasher's hash of each rule's id, so that no ask hashes an id again.
//
// Thread rule: one core. Tested by asks_pool_test.cc.

#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "rules/rule_set.h"
#include "weir/key.h"

namespace weir {

class RuleHashes {
 public:
  explicit RuleHashes(RuleSetPtr rules) { use(std::move(rules)); }

  // Null: there are no rules.
  void use(RuleSetPtr rules) {
    rules_ = rules != nullptr ? std::move(rules) : std::make_shared<const RuleSet>();
    hasher_ = nullptr;
  }
  const RuleSetPtr& rules() const { return rules_; }

  // Null if the rule is not in the set. `hasher` must outlive this, and be immutable.
  const KeyHash* find(const Rule& rule, const KeyHasher& hasher) {
    if (hasher_ != &hasher) hash_by(hasher);
    const std::vector<Rule>& all = rules_->rules();
    const bool is_of_these =
        !std::less<>()(&rule, all.data()) && std::less<>()(&rule, all.data() + all.size());
    return is_of_these ? &hashes_[static_cast<std::size_t>(&rule - all.data())] : nullptr;
  }

 private:
  void hash_by(const KeyHasher& hasher) {
    hashes_.clear();
    for (const Rule& rule : rules_->rules()) {
      hashes_.push_back(hasher.hash_names({.rule = rule.id, .bucket = {}, .key = {}}).rule);
    }
    hasher_ = &hasher;
  }

  RuleSetPtr rules_;
  std::vector<KeyHash> hashes_;        // in the order of the rules
  const KeyHasher* hasher_ = nullptr;  // made the hashes; null: there are none yet
};

}  // namespace weir
