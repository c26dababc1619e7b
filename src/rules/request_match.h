// RequestMatch: the conditions on a request.
//
// All its conditions must hold; of a list of values, one must hold. Without conditions it holds for
// every request. Matches within matches (`all_of`, `any_of`, `none_of`) are at most kMatchDepthMax
// deep.
//
// Thread rule: a value; the functions are pure. Tested by traffic_rules_test.cc and
// request_match_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "rules/request/request.h"
#include "rules/text/path_regexes.h"
#include "rules/text/text_pattern.h"

namespace weir {

inline constexpr std::size_t kMatchDepthMax = 4;

// A header, parameter, cookie or claim that must be there.
struct PropertyMatch {
  std::string name;
  TextPattern value{"*"};  // "*": any value; a header's list as joined_values() has it
};

// How `paths` of a match are compared with a request's path. If case does not matter, patterns are
// in small letters.
enum class PathCase : std::uint8_t { kSensitive, kInsensitive };
// kSame: a path is the same with and without a slash at its end.
enum class TrailingSlash : std::uint8_t { kDistinct, kSame };
inline constexpr std::array<std::string_view, 2> kPathCaseNames = {"sensitive", "insensitive"};
inline constexpr std::array<std::string_view, 2> kTrailingSlashNames = {"distinct", "same"};

struct RequestMatch {
  std::vector<std::string> methods{};
  std::vector<TextPattern> hosts{};  // in lower case
  std::vector<TextPattern> paths{};
  PathCase path_case = PathCase::kSensitive;
  TrailingSlash trailing_slash = TrailingSlash::kDistinct;
  std::vector<PathRegex> path_regexes{};
  // The request must have all of these. If it repeats one, any of the values will do.
  std::vector<PropertyMatch> headers{};
  std::vector<PropertyMatch> parameters{};
  std::vector<PropertyMatch> cookies{};
  std::vector<PropertyMatch> claims{};
  std::vector<PropertyMatch> unverified_claims{};
  std::vector<std::string> countries{};  // in capital letters
  std::vector<IpPrefix> clients{};

  std::vector<RequestMatch> all_of{};
  std::vector<RequestMatch> any_of{};
  std::vector<RequestMatch> none_of{};

  // Whether paths match that differ from the patterns in case or in the last slash.
  bool is_loose() const {
    return path_case != PathCase::kSensitive || trailing_slash != TrailingSlash::kDistinct;
  }
};

// The first condition that does not hold, by its name in the configuration file ("method", "path",
// "any", ...); empty if all hold. `regexes`: the indexes of the expressions that match the path,
// ascending.
std::string_view failed_condition(const RequestMatch& match, const Request& request,
                                  std::span<const int> regexes);

bool has_conditions_but_paths(const RequestMatch& match);
// A match without conditions holds for every request.
inline bool has_conditions(const RequestMatch& match) {
  return !match.paths.empty() || has_conditions_but_paths(match);
}

inline bool holds(const RequestMatch& match, const Request& request, std::span<const int> regexes) {
  return failed_condition(match, request, regexes).empty();
}

// Calls `visit` with the match and all matches within it.
template <typename Match, typename Visit>
void for_each_match(Match& match, Visit visit) {
  visit(match);
  for (auto* list : {&match.all_of, &match.any_of, &match.none_of}) {
    for (auto& inner : *list) for_each_match(inner, visit);
  }
}

}  // namespace weir
