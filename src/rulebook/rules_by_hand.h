// RulesByHand: all rules as requests have left them, who made the last change, and whether others
// made some before, as bytes for other nodes. What all files say themselves does not travel: such a
// rule is an id alone. So a node takes them only if its file is one of those that they go with, or
// has these rules.
//
//   A and B start with one file. A changes login.            files 1     login travels as text
//   A writes search to its file, which is file 2 now.        files 1, 2  login and search do
//   B, whose file is file 1 as before, changes login back.   files 1, 2  both do, for A
//
// Thread rule: values. Tested by rules_by_hand_test.cc and fuzz/rule_change_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules/rule_sources.h"
#include "rulebook/rule_author.h"

namespace weir {

// The files of nodes that can take the same rules by hand.
struct RuleFiles {
  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kApartMax = 64;  // rules that not all files have

  std::vector<std::uint64_t> hashes{};  // hash_of() the rules of each
  std::vector<RuleSource> alike{};      // the rules that all of them have

  // One file.
  static RuleFiles of(std::vector<RuleSource> rules);
  // Adds `after`, which `before` is made by writing the rule `id`. Forgets the first file if there
  // are too many, and all but `before` if they differ in too many rules.
  void add(const std::vector<RuleSource>& before, const std::vector<RuleSource>& after,
           std::string_view id);
};

struct RulesByHand {
  RuleFiles files{};                // that they go with; `alike` is for the reader to fill
  std::uint64_t all = 0;            // hash_of() these
  std::vector<RuleSource> rules{};  // in the order in which they apply; no text: as in the files
  RuleAuthor author{};              // of the last change
  RuleAuthors authors = RuleAuthors::kOne;  // of all that the file has otherwise
};

// The same for files that differ in comments and settings alone.
std::uint64_t hash_of(std::span<const RuleSource> rules);

std::string to_bytes(const RuleFiles& files, std::span<const RuleSource> in_force,
                     const RuleAuthor& author, RuleAuthors authors = RuleAuthors::kOne);
// Nothing if the bytes are no such rules.
std::optional<RulesByHand> rules_by_hand_in(std::string_view bytes);

}  // namespace weir
