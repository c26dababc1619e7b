// A node's busiest keys as bytes (base/packed.h), for the other nodes.
//
//   '1'  n x (id of the rule, asked, denied)
//
//   asked, denied   total, rest, weight, n, n x (hash, low, high, text)     key_report.h
//
// The text of a key is empty unless the node shows keys.
//
// Thread rule: pure functions. Tested by busiest_word_test.cc and fuzz/packed_fuzz.cc.

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
inline constexpr std::size_t kBusiestWordMax = std::size_t{8} << 10;  // bytes
inline constexpr std::size_t kBusiestRulesMax = 16;
inline constexpr std::size_t kBusiestKeysMax = 4;  // of a rule, each of asked and denied

std::string to_bytes(std::span<const RuleKeys> rules);

// Nothing if it is not what to_bytes() writes, as a whole. What comes out adds up with others:
// counts are below 2^53, none is above its total, and keys are in order.
std::optional<std::vector<RuleKeys>> busiest_word(std::string_view bytes);

}  // namespace weir
