// RequestMatch: what a request must look like.
//
// All that is given must hold; of a list, one. Nothing given: holds for every request.
// Matches within matches (`all_of`, `any_of`, `none_of`) are up to kMatchDepthMax deep.
//
// Thread rule: a value; holds() is pure. Tested by traffic_rules_test.cc and
// request_match_test.cc.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "rules/request/request.h"
#include "rules/text/text_pattern.h"

namespace weir {

inline constexpr std::size_t kMatchDepthMax = 4;

// A header, parameter, cookie or claim that has to be there.
struct PropertyMatch {
  std::string name;
  TextPattern value;  // "*": any value, but not none
};

// An expression of RE2 for the whole path.
struct PathRegex {
  std::string pattern;
  int index = -1;  // in the PathRegexes of its rule set, which sets it
};

struct RequestMatch {
  std::vector<std::string> methods{};
  std::vector<TextPattern> hosts{};  // in lower case
  std::vector<TextPattern> paths{};
  std::vector<PathRegex> path_regexes{};
  // Of these lists all must be there. Of a header the first of its name counts, of the
  // others any.
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
};

// `regexes`: the indexes of those that match the path, ascending.
bool holds(const RequestMatch& match, const Request& request, std::span<const int> regexes);

// Calls `visit` with the match and all within it.
template <typename Match, typename Visit>
void for_each_match(Match& match, Visit visit) {
  visit(match);
  for (auto* list : {&match.all_of, &match.any_of, &match.none_of}) {
    for (auto& inner : *list) for_each_match(inner, visit);
  }
}

}  // namespace weir
