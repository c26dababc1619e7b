// PathRegexes: all expressions for paths of a rule set, tried in one pass.
//
// RE2 reads a path once for all expressions, in time linear in its length, whatever they are. If
// together they would need more memory than kRegexesMemoryMax, they are tried one by one.
//
// Thread rule: immutable after construction; match() from any thread. A path without a matching
// expression costs no allocation; another path costs three, within RE2.
// Tested by path_regexes_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace weir {

inline constexpr std::int64_t kRegexMemoryMax = std::int64_t{256} << 10;   // bytes, of one
inline constexpr std::int64_t kRegexesMemoryMax = std::int64_t{64} << 20;  // of all
inline constexpr int kRegexesStepsMax = 1 << 19;  // RE2's instructions for all, 16 bytes each

// Checks the expressions of one configuration before they are used: each by itself, and the memory
// of all, since a file of 1 MiB can hold expressions that take gigabytes.
class RegexBudget {
 public:
  // What is wrong with the expression; nothing if it can be used. Equal expressions count once.
  std::optional<std::string> mistake(const std::string& pattern);

 private:
  std::set<std::string, std::less<>> seen_;
  int steps_ = 0;
};

// A single expression, for callers that ask about rules and not about requests.
class SingleRegex {
 public:
  // REQUIRES: RegexBudget finds no mistake in it.
  explicit SingleRegex(const std::string& pattern);
  SingleRegex(SingleRegex&&) noexcept;
  ~SingleRegex();

  bool matches(std::string_view path) const;  // the whole path
  // False if the expression matches no text that begins with '/'.
  bool matches_paths() const;

 private:
  std::unique_ptr<re2::RE2> regex_;
};

// An expression of RE2 for the whole path.
struct PathRegex {
  std::string pattern;
  int index = -1;  // in the PathRegexes of the rule set, which sets it
};

class PathRegexes {
 public:
  PathRegexes();
  // Numbers the expressions; equal ones get one number. REQUIRES: RegexBudget finds no mistake.
  explicit PathRegexes(std::span<PathRegex* const> regexes);
  PathRegexes(PathRegexes&&) noexcept;
  PathRegexes& operator=(PathRegexes&&) noexcept;
  ~PathRegexes();

  std::size_t size() const { return regexes_.size(); }

  // The indexes of the expressions that match the whole path, ascending.
  void match(std::string_view path, std::vector<int>& indexes) const;

 private:
  struct Set;

  void match_one_by_one(std::string_view path, std::vector<int>& indexes) const;

  std::vector<std::unique_ptr<re2::RE2>> regexes_;
  std::unique_ptr<Set> set_;  // null if there are none, or they are too large together
};

}  // namespace weir
