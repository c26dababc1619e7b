// RuleAuthor: who wants a change of the rules, as far as they say.
//
// Thread rule: values. Tested by rule_text_test.cc and rules_by_hand_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

struct RuleAuthor {
  static constexpr std::size_t kWhoMax = 160;  // bytes
  static constexpr std::size_t kByMax = 64;
  static constexpr std::size_t kWhyMax = 256;

  std::string who{};  // an address, and the node that it asked; empty: unknown
  std::string by{};   // the name that they give; empty: none
  std::string why{};  // in their words; empty: they do not say

  bool is_one_with(const RuleAuthor& other) const {
    return by == other.by && (!by.empty() || who == other.who);
  }
  friend bool operator==(const RuleAuthor&, const RuleAuthor&) = default;
};

// Whether one author has made all of several changes.
enum class RuleAuthors : std::uint8_t { kOne, kSeveral };

}  // namespace weir
