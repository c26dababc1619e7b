#include "server/http/query.h"

#include <algorithm>

#include <simdjson.h>

#include "base/ascii.h"
#include "base/nearest_name.h"
#include "base/percent.h"

namespace weir {

std::string percent_decoded(std::string_view text) {
  return *percent_decoded(text, [](char) { return true; });
}

std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::string_view pair = take_until(query, '&');
    const std::string_view name = pair.substr(0, pair.find('='));
    parameters.emplace_back(percent_decoded(name),
                            percent_decoded(pair.substr(std::min(name.size() + 1, pair.size()))));
  }
  return parameters;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  for (auto& parameter : query_parameters(query)) {
    if (parameter.first == name) return std::move(parameter.second);
  }
  return std::nullopt;
}

std::optional<Problem> parameter_mistake(std::string_view query, std::string_view known) {
  std::vector<std::string_view> names;
  std::vector<std::string_view> seen;
  while (!known.empty()) names.push_back(take_until(known, ' '));
  for (const auto& [raw, value] : query_parameters(query)) {
    const auto is_it = [&name = raw](std::string_view candidate) {
      return name == candidate || (candidate.ends_with(':') && name.starts_with(candidate));
    };
    const auto found = std::ranges::find_if(names, is_it);
    if ((raw.empty() && value.empty()) || (found != names.end() && found->ends_with(':'))) continue;
    if (found != names.end()) {
      if (std::ranges::count(seen, *found) > 0) {
        return invalid_field(raw, "the parameter only once");
      }
      seen.push_back(*found);
      continue;
    }
    const std::string name = as_utf8(shown_name(raw));
    const std::string expected = names.empty() ? "nothing" : expected_name(name, names);
    Problem problem = invalid_field(name, expected);
    problem.detail = name + ": there is no such parameter here; " +
                     (names.empty() ? "expected none" : name_hint(name, names));
    return problem;
  }
  return std::nullopt;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string as_utf8(std::string_view text) {
  std::string shown(text);
  if (is_utf8(text)) return shown;
  std::ranges::replace_if(
      shown, [](char c) { return (c & 0x80) != 0; }, '?');
  return shown;
}

}  // namespace weir
