// RulesByHand: all rules as requests have left them, who made the last change, and whether others
// made some before, as bytes for other nodes. What the file says itself does not travel: such a
// rule is an id alone. So a node takes them only if its file has the rules that they were made on,
// or these. After a change that was written to a file, that file may have what the change has left.
//
// Thread rule: values. Tested by rules_by_hand_test.cc and fuzz/rule_change_fuzz.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules/rule_sources.h"
#include "rulebook/rule_author.h"

namespace weir {

struct RulesByHand {
  std::uint64_t file = 0;           // hash_of() the rules of the file
  std::uint64_t left = 0;           // the same after the change
  std::uint64_t all = 0;            // and of these
  std::vector<RuleSource> rules{};  // in the order in which they apply; no text: as in the file
  RuleAuthor author{};              // of the last change
  RuleAuthors authors = RuleAuthors::kOne;  // of all that the file has otherwise
};

// The same for files that differ in comments and settings alone.
std::uint64_t hash_of(std::span<const RuleSource> rules);

std::string to_bytes(std::span<const RuleSource> in_file, std::span<const RuleSource> in_force,
                     const RuleAuthor& author, RuleAuthors authors = RuleAuthors::kOne,
                     std::optional<std::uint64_t> left = {});
// Nothing if the bytes are no such rules.
std::optional<RulesByHand> rules_by_hand_in(std::string_view bytes);

}  // namespace weir
