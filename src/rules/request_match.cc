#include "rules/request_match.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "rules/request/header_values.h"

namespace weir {
namespace {

bool any_matches(const std::vector<TextPattern>& patterns, std::string_view text) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const TextPattern& pattern) {
           return pattern.matches(text);
         });
}

// A loose match compares the forms of the path that RequestFacts has made.
bool path_matches(const RequestMatch& match, const Request& request) {
  if (!match.is_loose()) return any_matches(match.paths, request.path);
  const bool any_case = match.path_case == PathCase::kInsensitive;
  const std::string_view as_folder = any_case ? request.folder_in_small : request.folder;
  const std::size_t slashes = as_folder == "/" ? 0 : 1;
  const std::string_view as_file = as_folder.substr(0, as_folder.size() - slashes);
  if (match.trailing_slash == TrailingSlash::kDistinct) {
    return any_matches(match.paths, request.path.ends_with('/') ? as_folder : as_file);
  }
  return any_matches(match.paths, as_folder) || any_matches(match.paths, as_file);
}

bool all_are_there(const std::vector<PropertyMatch>& wanted, std::span<const NameValue> values) {
  return std::ranges::all_of(wanted, [&](const PropertyMatch& one) {
    return std::ranges::any_of(values, [&](const NameValue& value) {
      return value.name == one.name && one.value.matches(value.value);
    });
  });
}

// Each value of a list may match, and the list as a whole.
bool is_there(const PropertyMatch& wanted, std::span<const NameValue> headers) {
  bool found = false;
  std::size_t values = 0;
  for_each_header_value(headers, wanted.name, [&](std::string_view value) {
    found = found || wanted.value.matches(value);
    ++values;
  });
  const bool may_be_a_list =
      !wanted.value.is_exact || wanted.value.text.find(',') != std::string::npos;
  if (found || values < 2 || !may_be_a_list) return found;
  return wanted.value.matches(joined_values(headers, wanted.name));
}

bool all_headers_are_there(const std::vector<PropertyMatch>& wanted,
                           std::span<const NameValue> headers) {
  return std::ranges::all_of(wanted, [&](const auto& one) { return is_there(one, headers); });
}

bool client_matches(const std::vector<IpPrefix>& clients, const std::optional<IpAddress>& client) {
  return clients.empty() || (client && contain(clients, *client));
}

bool country_matches(const std::vector<std::string>& countries, std::string_view country) {
  return countries.empty() || std::ranges::any_of(countries, [&](const std::string& wanted) {
           return equal_ignoring_case(wanted, country);
         });
}

bool any_regex_matches(const std::vector<PathRegex>& wanted, std::span<const int> regexes) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const PathRegex& regex) {
           return std::ranges::binary_search(regexes, regex.index);
         });
}

}  // namespace

bool has_conditions_but_paths(const RequestMatch& match) {
  const auto any_of = [](const auto&... lists) { return (!lists.empty() || ...); };
  return any_of(match.methods, match.hosts, match.path_regexes, match.headers, match.parameters,
                match.cookies, match.claims, match.unverified_claims, match.countries,
                match.clients, match.all_of, match.any_of, match.none_of);
}

std::string_view failed_condition(const RequestMatch& match, const Request& request,
                                  std::span<const int> regexes) {
  const auto inner_holds = [&](const RequestMatch& inner) {
    return holds(inner, request, regexes);
  };
  const bool is_method =
      match.methods.empty() || std::ranges::count(match.methods, request.method) != 0;
  if (!is_method) return "method";
  if (!path_matches(match, request)) return "path";
  if (!any_regex_matches(match.path_regexes, regexes)) return "path_regex";
  if (!client_matches(match.clients, request.client)) return "client";
  if (!country_matches(match.countries, request.country)) return "country";
  if (!all_headers_are_there(match.headers, request.headers)) return "header";
  if (!all_are_there(match.parameters, request.parameters)) return "query";
  if (!all_are_there(match.cookies, request.cookies)) return "cookie";
  if (!all_are_there(match.claims, request.claims)) return "jwt";
  if (!all_are_there(match.unverified_claims, request.unverified_claims)) return "jwt";
  if (!any_matches(match.hosts, request.host)) return "host";
  if (!std::ranges::all_of(match.all_of, inner_holds)) return "all";
  if (!match.any_of.empty() && !std::ranges::any_of(match.any_of, inner_holds)) return "any";
  if (!std::ranges::none_of(match.none_of, inner_holds)) return "not";
  return {};
}

}  // namespace weir
