// Which matches cover others.

#include <algorithm>
#include <string_view>

#include "rules/config_warnings.h"

namespace weir {
namespace {

bool covers_text(const TextPattern& pattern, const TextPattern& other) {
  if (other.is_exact) return pattern.matches(other.text);
  if (pattern.text == other.text) return true;
  const std::string_view text = pattern.text;
  const bool is_prefix = text.ends_with('*') && text.find('*') == text.size() - 1;
  return is_prefix && std::string_view(other.text)
                          .substr(0, other.text.find('*'))
                          .starts_with(text.substr(0, text.size() - 1));
}

// Of a list one is enough, and an empty one says nothing.
template <typename T, typename Covers>
bool covers_list(const std::vector<T>& list, const std::vector<T>& other, Covers covers_one) {
  if (list.empty()) return true;
  return !other.empty() && std::ranges::all_of(other, [&](const T& theirs) {
    return std::ranges::any_of(list, [&](const T& ours) { return covers_one(ours, theirs); });
  });
}

bool covers_properties(const std::vector<PropertyMatch>& properties,
                       const std::vector<PropertyMatch>& other) {
  return std::ranges::all_of(properties, [&](const PropertyMatch& ours) {
    return std::ranges::any_of(other, [&](const PropertyMatch& theirs) {
      return ours.name == theirs.name && covers_text(ours.value, theirs.value);
    });
  });
}

}  // namespace

bool covers(const RequestMatch& match, const RequestMatch& other) {
  if (!match.all_of.empty() || !match.any_of.empty() || !match.none_of.empty()) return false;
  const auto same_regex = [](const PathRegex& one, const PathRegex& two) {
    return one.pattern == two.pattern;
  };
  return covers_list(match.methods, other.methods, std::equal_to<>()) &&
         covers_list(match.hosts, other.hosts, covers_text) &&
         covers_list(match.paths, other.paths, covers_text) &&
         covers_list(match.path_regexes, other.path_regexes, same_regex) &&
         covers_list(match.countries, other.countries, std::equal_to<>()) &&
         covers_list(match.clients, other.clients, std::equal_to<>()) &&
         covers_properties(match.headers, other.headers) &&
         covers_properties(match.parameters, other.parameters) &&
         covers_properties(match.cookies, other.cookies) &&
         covers_properties(match.claims, other.claims) &&
         covers_properties(match.unverified_claims, other.unverified_claims);
}

}  // namespace weir
