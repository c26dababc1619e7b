#include "config/rules/match_cover.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/ascii.h"

namespace weir {
namespace {

// A '*' of the other pattern is an ordinary byte here: only a '*' of this pattern takes it, and
// takes whatever it stands for.
bool covers_text(const TextPattern& pattern, const TextPattern& other) {
  return pattern.matches(other.text);
}

// One item of a list must hold; an empty list always holds.
template <typename T, typename Covers>
bool covers_list(const std::vector<T>& list, const std::vector<T>& other, Covers covers_one) {
  if (list.empty()) return true;
  return !other.empty() && std::ranges::all_of(other, [&](const T& theirs) {
    return std::ranges::any_of(list, [&](const T& ours) { return covers_one(ours, theirs); });
  });
}

std::vector<TextPattern> in_small(const std::vector<TextPattern>& patterns) {
  std::vector<TextPattern> small;
  for (const TextPattern& pattern : patterns) small.emplace_back(to_ascii_lower(pattern.text));
  return small;
}

// Sure only if the other match compares paths no more loosely than this one.
bool covers_paths(const RequestMatch& match, const RequestMatch& other) {
  if (match.paths.empty()) return true;
  if (other.path_case > match.path_case || other.trailing_slash > match.trailing_slash) {
    return false;
  }
  const bool any_case = match.path_case == PathCase::kInsensitive;
  return covers_list(match.paths, any_case ? in_small(other.paths) : other.paths, covers_text);
}

bool covers_network(const IpPrefix& network, const IpPrefix& other) {
  return network.contains(other);
}

template <typename SameName>
bool covers_properties(const std::vector<PropertyMatch>& properties,
                       const std::vector<PropertyMatch>& other, SameName same_name) {
  return std::ranges::all_of(properties, [&](const PropertyMatch& ours) {
    return std::ranges::any_of(other, [&](const PropertyMatch& theirs) {
      return same_name(ours.name, theirs.name) && covers_text(ours.value, theirs.value);
    });
  });
}

// Whether one text may fit both. Two patterns with '*' compare by their ends only.
bool overlap(const TextPattern& one, const TextPattern& other) {
  if (one.is_exact) return other.matches(one.text);
  if (other.is_exact) return one.matches(other.text);
  const auto head = std::min(one.text.find('*'), other.text.find('*'));
  const auto tail =
      std::min(one.text.size() - one.text.rfind('*'), other.text.size() - other.text.rfind('*')) -
      1;
  return one.text.compare(0, head, other.text, 0, head) == 0 &&
         one.text.compare(one.text.size() - tail, tail, other.text, other.text.size() - tail,
                          tail) == 0;
}

// The same for paths that are compared loosely: in small letters, and each with and without a slash
// at its end. Two patterns with '*' may have a path in common.
bool overlap_loosely(const TextPattern& one, const TextPattern& other) {
  if (!one.is_exact && !other.is_exact) return true;
  const auto fits = [](const std::string& path, const TextPattern& pattern) {
    const TextPattern small(to_ascii_lower(pattern.text));
    const std::string folder = path.ends_with('/') ? path : path + "/";
    const std::string file = folder.substr(0, std::max<std::size_t>(1, folder.size() - 1));
    return small.matches(folder) || small.matches(file);
  };
  return one.is_exact ? fits(to_ascii_lower(one.text), other)
                      : fits(to_ascii_lower(other.text), one);
}

bool overlap_networks(const IpPrefix& one, const IpPrefix& other) {
  return one.contains(other) || other.contains(one);
}

// Whether nothing is in both lists.
template <typename T, typename Overlap>
bool disjoint(const std::vector<T>& list, const std::vector<T>& other, Overlap may_be_both) {
  return !list.empty() && !other.empty() && std::ranges::none_of(list, [&](const T& one) {
    return std::ranges::any_of(other, [&](const T& two) { return may_be_both(one, two); });
  });
}

// The match, and the matches within it that must hold, too.
std::vector<const RequestMatch*> conjuncts(const RequestMatch& match) {
  std::vector<const RequestMatch*> found = {&match};
  for (const RequestMatch& inner : match.all_of) {
    const auto more = conjuncts(inner);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

}  // namespace

const SingleRegex& MatchCover::regex(const std::string& pattern) {
  const auto known = regexes_.find(pattern);
  return known != regexes_.end() ? known->second
                                 : regexes_.emplace(pattern, SingleRegex(pattern)).first->second;
}

// An exact path may fit an expression.
bool MatchCover::covers_regexes(const RequestMatch& match, const RequestMatch& other) {
  const auto same = [](const PathRegex& one, const PathRegex& two) {
    return one.pattern == two.pattern;
  };
  if (covers_list(match.path_regexes, other.path_regexes, same)) return true;
  return !other.is_loose() && !other.paths.empty() &&
         std::ranges::all_of(other.paths, [&](const TextPattern& path) {
           return path.is_exact &&
                  std::ranges::any_of(match.path_regexes, [&](const PathRegex& ours) {
                    return regex(ours.pattern).matches(path.text);
                  });
         });
}

// Counts the steps of a comparison.
bool MatchCover::may_compare(const RequestMatch& one, const RequestMatch& other) {
  if (left_ <= 0) return false;
  const auto steps = (1 + one.paths.size()) * (1 + other.paths.size()) +
                     one.hosts.size() * other.hosts.size() +
                     one.clients.size() * other.clients.size();
  left_ -= static_cast<std::int64_t>(steps);
  return true;
}

// Compares without the matches within `match`.
bool MatchCover::covers_plain(const RequestMatch& match, const RequestMatch& other) {
  return covers_list(match.methods, other.methods, std::equal_to<>()) &&
         covers_list(match.hosts, other.hosts, covers_text) && covers_paths(match, other) &&
         covers_list(match.countries, other.countries, std::equal_to<>()) &&
         covers_list(match.clients, other.clients, covers_network) &&
         covers_properties(match.headers, other.headers, equal_ignoring_case) &&
         covers_properties(match.parameters, other.parameters, std::equal_to<>()) &&
         covers_properties(match.cookies, other.cookies, std::equal_to<>()) &&
         covers_properties(match.claims, other.claims, std::equal_to<>()) &&
         covers_properties(match.unverified_claims, other.unverified_claims, std::equal_to<>()) &&
         covers_regexes(match, other);
}

bool MatchCover::covers(const RequestMatch& match, const RequestMatch& other) {
  if (!may_compare(match, other)) return false;
  const auto covers_other = [&](const RequestMatch& inner) { return covers(inner, other); };
  const bool whole = match.none_of.empty() && covers_plain(match, other) &&
                     std::ranges::all_of(match.all_of, covers_other) &&
                     (match.any_of.empty() || std::ranges::any_of(match.any_of, covers_other));
  const auto is_covered = [&](const RequestMatch& inner) { return covers(match, inner); };
  return whole || std::ranges::any_of(other.all_of, is_covered) ||
         (!other.any_of.empty() && std::ranges::all_of(other.any_of, is_covered));
}

bool MatchCover::excludes_paths(const RequestMatch& one, const RequestMatch& other) {
  const bool is_loose = one.is_loose() || other.is_loose();
  if (disjoint(one.paths, other.paths, is_loose ? overlap_loosely : overlap)) return true;
  if (one.is_loose() || one.paths.empty() || other.path_regexes.empty()) return false;
  return std::ranges::all_of(one.paths, [&](const TextPattern& path) {
    return path.is_exact && std::ranges::none_of(other.path_regexes, [&](const PathRegex& theirs) {
             return regex(theirs.pattern).matches(path.text);
           });
  });
}

// Whether the two never hold for one request.
bool MatchCover::excludes(const RequestMatch& one, const RequestMatch& other) {
  if (!may_compare(one, other)) return false;
  return disjoint(one.methods, other.methods, std::equal_to<>()) ||
         disjoint(one.hosts, other.hosts, overlap) ||
         disjoint(one.countries, other.countries, std::equal_to<>()) ||
         disjoint(one.clients, other.clients, overlap_networks) || excludes_paths(one, other) ||
         excludes_paths(other, one);
}

bool MatchCover::may_meet(const RequestMatch& one, const RequestMatch& other) {
  return !is_contradiction({.all_of = {one, other}});
}

bool MatchCover::is_contradiction(const RequestMatch& match) {
  if (left_ <= 0) return false;
  const auto together = conjuncts(match);
  const auto is_excluded = [&](const RequestMatch& inner) {
    return is_contradiction(inner) || std::ranges::any_of(together, [&](const auto* outer) {
             return excludes(*outer, inner);
           });
  };
  return std::ranges::any_of(together, [&](const RequestMatch* one) {
    if (left_ <= 0) return false;
    return std::ranges::any_of(together, [&](const auto* two) { return excludes(*one, *two); }) ||
           std::ranges::any_of(one->none_of,
                               [&](const RequestMatch& inner) { return covers(inner, match); }) ||
           (!one->any_of.empty() && std::ranges::all_of(one->any_of, is_excluded));
  });
}

}  // namespace weir
