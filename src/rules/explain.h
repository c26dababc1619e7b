// Why a rule does or does not apply to a request.
//
// Thread rule: pure. Tested by explain_test.cc.

#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "rules/request_match.h"

namespace weir {

// The first condition that does not hold, by its name in the configuration file ("method",
// "path", "any", ...). Nothing if all of them hold. As for holds().
std::optional<std::string_view> failed_condition(const RequestMatch& match, const Request& request,
                                                 std::span<const int> regexes);

}  // namespace weir
