// RequestMatch: what a request must look like.
//
// All its conditions must hold; in a list of values, one. Without conditions it holds for
// every request.
// Matches within matches (`all_of`, `any_of`, `none_of`) are up to kMatchDepthMax deep.
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

// A header, parameter, cookie or claim that has to be there.
struct PropertyMatch {
  std::string name;
  TextPattern value{
      "*"};  // "*": any value, but not none; a list in a header as joined_values() has it
};

// How `paths` of a match are compared with a request's path. Patterns of any case are in small
// letters.
enum class PathCase : std::uint8_t { kSensitive, kInsensitive };
// kSame: a path with a slash at its end and one without are the same.
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
  // The request must have all of these. If it has one several times, any value will do.
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

  // Further paths than the patterns say fit.
  bool is_loose() const {
    return path_case != PathCase::kSensitive || trailing_slash != TrailingSlash::kDistinct;
  }
};

// The first condition that does not hold, by its name in the configuration file ("method",
// "path", "any", ...); empty if all of them hold. `regexes`: the indexes of those that match
// the path, ascending.
std::string_view failed_condition(const RequestMatch& match, const Request& request,
                                  std::span<const int> regexes);

bool has_conditions_but_paths(const RequestMatch& match);
// Without any it holds for every request.
inline bool has_conditions(const RequestMatch& match) {
  return !match.paths.empty() || has_conditions_but_paths(match);
}

inline bool holds(const RequestMatch& match, const Request& request, std::span<const int> regexes) {
  return failed_condition(match, request, regexes).empty();
}

// Calls `visit` with the match and all within it.
template <typename Match, typename Visit>
void for_each_match(Match& match, Visit visit) {
  visit(match);
  for (auto* list : {&match.all_of, &match.any_of, &match.none_of}) {
    for (auto& inner : *list) for_each_match(inner, visit);
  }
}

}  // namespace weir
