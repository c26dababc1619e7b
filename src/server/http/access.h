// Decides whether a client may use the admin routes (RouteAccess::kAdmin).
//
// Thread rule: pure. Tested by http_access_test.cc.

#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/name_value.h"
#include "server/http/http_node.h"
#include "server/http/problem.h"

namespace weir {

struct AccessRefusal {
  Problem problem;
  std::span<const NameValue> fields{};  // for the reply; static
};

// What the request says of its sender: the fields of these names, empty if there is none.
struct AccessClaim {
  std::string_view authorization;
  std::string_view origin;
  std::string_view host;
};

// Comparing the token takes the same time whatever it is compared with. Without a token
// whoever is on this machine may, but not a web page in its browser: those send Origin,
// or, if their name was made to lead here, that name as Host.
std::optional<AccessRefusal> access_refusal(const HttpAccess& access, const AccessClaim& claim);

// The same for what needs no token: without one, only a name of this machine leads here.
std::optional<AccessRefusal> host_refusal(const HttpAccess& access, std::string_view host);

}  // namespace weir
