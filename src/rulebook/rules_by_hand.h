// RulesByHand: all rules as requests have left them, who made the last change, and whether others
// made some before, as bytes for other nodes. What all files say themselves does not travel: such a
// rule is an id alone. So a node takes them only if its file is one of those that they go with, or
// has these rules.
//
//   A and B start with one file. A changes login.            files 1     login travels as text
//   A writes search to its file, which is file 2 now.        files 1, 2  login and search do
//   B, whose file is file 1 as before, changes login back.   files 1, 2  search does
//
// Thread rule: values. Tested by rules_by_hand_test.cc and fuzz/rule_change_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
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
  // Of rules of the own file that other files have otherwise.
  static constexpr std::size_t kApartBytesMax = 64 << 10;

  std::vector<std::uint64_t> hashes{};  // hash_of() the rules of each, the latest last
  // Ids of rules that all of them have, and have alike.
  std::set<std::string, std::less<>> alike{};

  // One file.
  static RuleFiles of(std::span<const RuleSource> rules);
  // Adds a file by the hash of its rules. Forgets the second if there are too many: most nodes may
  // still have the first.
  void add(std::uint64_t hash);
  // Adds `after`, which somebody made of `before` by adding, changing or removing the rule `id`.
  // Forgets all others if they differ in rules of too many bytes.
  void add(std::span<const RuleSource> before, std::span<const RuleSource> after,
           const std::string& id);
};

// Of the changes by request: the files that they go with, and their authors.
struct ChangesByHand {
  RuleFiles files{};
  RuleAuthor author{};                      // of the last
  RuleAuthors authors = RuleAuthors::kOne;  // of all that the file has otherwise
};

struct RulesByHand {
  ChangesByHand changes{};
  std::uint64_t all = 0;            // hash_of() these
  std::vector<RuleSource> rules{};  // in the order in which they apply; no text: as in the files
};

// The same for files that differ in comments and settings alone.
std::uint64_t hash_of(std::span<const RuleSource> rules);

// `in_file`: of the own file, which is one of those that the changes go with.
std::string to_bytes(const ChangesByHand& changes, std::span<const RuleSource> in_file,
                     std::span<const RuleSource> in_force);
// Nothing if the bytes are no such rules.
std::optional<RulesByHand> rules_by_hand_in(std::string_view bytes);

}  // namespace weir
