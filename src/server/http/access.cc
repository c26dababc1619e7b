#include "server/http/access.h"

#include <algorithm>

#include "base/secret.h"

namespace weir {
namespace {

constexpr std::string_view kScheme = "bearer ";

std::string_view bearer_token(std::string_view authorization) {
  const auto same = [](char scheme, char c) { return (c | 0x20) == (scheme | 0x20); };
  if (authorization.size() < kScheme.size()) return {};
  if (!std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), same)) return {};
  return authorization.substr(kScheme.size());
}

}  // namespace

std::optional<AccessRefusal> access_refusal(const HttpAccess& access, const AccessClaim& claim) {
  if (access.admin_token) {
    if (equals_secret(bearer_token(claim.authorization), *access.admin_token)) return std::nullopt;
    return AccessRefusal{
        http_problem(401, "Send the admin token in the field Authorization: Bearer TOKEN."),
        "WWW-Authenticate: Bearer\r\n"};
  }
  if (access.exposure == Exposure::kLoopback) {
    if (claim.origin.empty()) return std::nullopt;
    return AccessRefusal{http_problem(403,
                                      "Web pages may do this only with an admin token: start the "
                                      "server with one."),
                         {}};
  }
  return AccessRefusal{
      http_problem(403,
                   "This server listens on more than loopback and has no admin token. Start it "
                   "with one, then send it in the field Authorization: Bearer TOKEN."),
      {}};
}

}  // namespace weir
