// Who may use the admin routes (RouteAccess::kAdmin).
//
// Thread rule: pure. Tested by http_access_test.cc.

#pragma once

#include <optional>
#include <string_view>

#include "server/http/http_node.h"
#include "server/http/problem.h"

namespace weir {

struct AccessRefusal {
  Problem problem;
  std::string_view fields;  // for the reply: whole lines, static
};

// `authorization` is the field of that name, empty if there is none. Comparing the
// token takes the same time whatever it is compared with.
std::optional<AccessRefusal> access_refusal(const HttpAccess& access,
                                            std::string_view authorization);

}  // namespace weir
