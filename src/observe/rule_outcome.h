// What becomes of one request of a rule, and the number under which a rule counts.
//
// Thread rule: values. Tested by rule_counts_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace weir {

enum class RuleOutcome : std::uint8_t {
  kAllowed,
  kDenied,
  kBlocked,  // denied without being counted
  kShadow,   // would have been denied
};
inline constexpr std::size_t kRuleOutcomeCount = 4;
inline constexpr std::array<std::string_view, kRuleOutcomeCount> kRuleOutcomeNames = {
    "allowed", "denied", "blocked", "shadow"};

using RuleNumber = std::uint32_t;
inline constexpr RuleNumber kNoRuleNumber = std::numeric_limits<RuleNumber>::max();

}  // namespace weir
