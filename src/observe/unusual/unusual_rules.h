// UnusualRules: the rules that have unusual traffic now, one bit each, for all cores.
//
// A core reads it for rules that then want other limits (on_surge); metrics read it, too. The bits
// guard nothing else, so they are read and written relaxed.
//
// Thread rule: any thread. Tested by traffic_watch_test.cc and src/engine/asks/asks_surge_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "observe/rule_counts.h"

namespace weir {

class UnusualRules {
 public:
  // Does nothing for kNoRuleNumber.
  void begin(RuleNumber rule) noexcept {
    if (rule < RuleCounts::kRulesMax) word_of(rule).fetch_or(bit_of(rule), kOrder);
  }
  void end(RuleNumber rule) noexcept {
    if (rule < RuleCounts::kRulesMax) word_of(rule).fetch_and(~bit_of(rule), kOrder);
  }
  bool holds(RuleNumber rule) const noexcept {
    return rule < RuleCounts::kRulesMax && (words_[rule / 64].load(kOrder) & bit_of(rule)) != 0;
  }

 private:
  static constexpr auto kOrder = std::memory_order_relaxed;
  static_assert(RuleCounts::kRulesMax % 64 == 0);

  static std::uint64_t bit_of(RuleNumber rule) noexcept { return std::uint64_t{1} << rule % 64; }
  std::atomic<std::uint64_t>& word_of(RuleNumber rule) noexcept { return words_[rule / 64]; }

  std::array<std::atomic<std::uint64_t>, RuleCounts::kRulesMax / 64> words_{};
};

}  // namespace weir
