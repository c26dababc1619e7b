// A node's busiest keys as text, for the other nodes.
//
//   weir busiest 1 3:api 9000 40 1 1 9223372036854775809 700 704 5:alice 120 0 1 0 \n
//
// For each rule its id, and what is asked and denied: total, rest, weight, how many keys, and for
// each key its hash, how often it came at least and at most, and its text, which is empty unless
// the node shows keys. A text follows its length.
//
// Thread rule: pure functions. Tested by busiest_text_test.cc and fuzz/busiest_text_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "observe/keys/key_report.h"

namespace weir {

// What a node may say: the first rules that fit.
inline constexpr std::size_t kBusiestTextMax = std::size_t{8} << 10;  // bytes
inline constexpr std::size_t kBusiestRulesMax = 16;
inline constexpr std::size_t kBusiestKeysMax = 4;  // of a rule, each of asked and denied

std::string to_text(std::span<const RuleKeys> rules);

// Nothing if it is not what to_text() writes, as a whole. What comes out adds up with others:
// counts are below 2^53, none is above its total, and keys are in order.
std::optional<std::vector<RuleKeys>> rule_keys_from_text(std::string_view text);

}  // namespace weir
