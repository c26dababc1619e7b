#include "server/http/access.h"

#include <algorithm>
#include <cstddef>

namespace weir {
namespace {

constexpr std::string_view kScheme = "bearer ";

std::string_view bearer_token(std::string_view authorization) {
  const auto same = [](char scheme, char c) { return (c | 0x20) == (scheme | 0x20); };
  if (authorization.size() < kScheme.size()) return {};
  if (!std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), same)) return {};
  return authorization.substr(kScheme.size());
}

// Looks at every byte of `given`, whatever differs, so that the time tells nothing
// but the length of what the client sent.
bool is_token(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = token.empty() ? '\0' : token[i % token.size()];
    difference |= static_cast<unsigned char>(given[i] ^ expected);
  }
  return difference == 0 && !token.empty();
}

}  // namespace

std::optional<AccessRefusal> access_refusal(const HttpAccess& access, const AccessClaim& claim) {
  if (access.admin_token) {
    if (is_token(bearer_token(claim.authorization), *access.admin_token)) return std::nullopt;
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
