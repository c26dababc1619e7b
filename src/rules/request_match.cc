#include "rules/request_match.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/ascii.h"

namespace weir {
namespace {

bool any_matches(const std::vector<TextPattern>& patterns, std::string_view text) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const TextPattern& pattern) {
           return pattern.matches(text);
         });
}

bool headers_match(const std::vector<PropertyMatch>& headers, const Request& request) {
  return std::ranges::all_of(headers, [&](const PropertyMatch& wanted) {
    const auto value = request.header(wanted.name);
    return value && wanted.value.matches(*value);
  });
}

bool all_are_there(const std::vector<PropertyMatch>& wanted, std::span<const NameValue> values) {
  return std::ranges::all_of(wanted, [&](const PropertyMatch& one) {
    return std::ranges::any_of(values, [&](const NameValue& value) {
      return value.name == one.name && one.value.matches(value.value);
    });
  });
}

bool client_matches(const std::vector<IpPrefix>& clients, const std::optional<IpAddress>& client) {
  if (clients.empty()) return true;
  return client && std::ranges::any_of(
                       clients, [&](const IpPrefix& prefix) { return prefix.contains(*client); });
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

bool properties_match(const RequestMatch& match, const Request& request) {
  return headers_match(match.headers, request) &&
         all_are_there(match.parameters, request.parameters) &&
         all_are_there(match.cookies, request.cookies) &&
         all_are_there(match.claims, request.claims) &&
         all_are_there(match.unverified_claims, request.unverified_claims);
}

}  // namespace

bool holds(const RequestMatch& match, const Request& request, std::span<const int> regexes) {
  if (!match.methods.empty() && !std::ranges::count(match.methods, request.method)) return false;
  const auto inner_holds = [&](const RequestMatch& inner) {
    return holds(inner, request, regexes);
  };
  return any_matches(match.paths, request.path) && any_regex_matches(match.path_regexes, regexes) &&
         client_matches(match.clients, request.client) &&
         country_matches(match.countries, request.country) && properties_match(match, request) &&
         any_matches(match.hosts, request.host) && std::ranges::all_of(match.all_of, inner_holds) &&
         (match.any_of.empty() || std::ranges::any_of(match.any_of, inner_holds)) &&
         std::ranges::none_of(match.none_of, inner_holds);
}

}  // namespace weir
