// The query of a URL, for admin requests.
//
// Thread rule: pure functions. Tested by query_test.cc and tests/scenarios/http_problems.yaml.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/http/problem.h"

namespace weir {

// A % that begins no encoding stays as it is.
std::string percent_decoded(std::string_view text);

// The parameters in their order, decoded.
std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query);

// The first value of that name, decoded ("+" stays). nullopt if there is none; empty for a name
// without '='.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// The problem if a parameter comes twice or is not in `known`, which has names with blanks between
// them. A known name that ends in ':' stands for all names that begin so, however often.
std::optional<Problem> parameter_mistake(std::string_view query, std::string_view known);

bool is_utf8(std::string_view text);
// The text if it is UTF-8; else with '?' for bytes beyond ASCII.
std::string as_utf8(std::string_view text);

}  // namespace weir
