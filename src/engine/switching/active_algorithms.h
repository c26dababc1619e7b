// ActiveAlgorithms: which algorithm decides now, on this node, for the switching limits of each
// rule.
//
// Only the switch writes it. Every core reads it when it charges a limit that switches, and so sees
// a switch with its next charge. A rule that has never switched is a sliding window. Requests
// without a rule, or whose rule is not counted (observe/rule_counts.h), share one place:
// kNoRuleNumber.
//
// Thread rule: set() from one thread at a time; of() from any. Tested by active_algorithms_test.cc.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "observe/rule_counts.h"
#include "weir/quota.h"

namespace weir {

class ActiveAlgorithms {
 public:
  ActiveAlgorithms() : places_(RuleCounts::kRulesMax + 1) {}

  // REQUIRES: can_be_active(active.algorithm)
  void set(RuleNumber rule, ActiveAlgorithm active) {
    WEIR_ASSERT(can_be_active(active.algorithm));
    // Relaxed, as the word is all that is read.
    places_[place_of(rule)].store(word_of(active), std::memory_order_relaxed);
  }

  ActiveAlgorithm of(RuleNumber rule) const {
    return active_of(places_[place_of(rule)].load(std::memory_order_relaxed));
  }

 private:
  static std::size_t place_of(RuleNumber rule) {
    return std::min<std::size_t>(rule, RuleCounts::kRulesMax);
  }

  // The algorithm stands above the number; 0 means that nothing has switched.
  static constexpr std::uint64_t kDefault = static_cast<std::uint64_t>(ActiveAlgorithm().algorithm)
                                            << 32;
  static constexpr std::uint64_t word_of(ActiveAlgorithm active) {
    return (static_cast<std::uint64_t>(active.algorithm) << 32 | active.number) ^ kDefault;
  }
  static constexpr ActiveAlgorithm active_of(std::uint64_t word) {
    return {.algorithm = static_cast<Algorithm>((word ^ kDefault) >> 32),
            .number = static_cast<std::uint32_t>(word)};
  }

  std::vector<std::atomic<std::uint64_t>> places_;
};

}  // namespace weir
