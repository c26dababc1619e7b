#include "server/resp/resp_access.h"

#include "base/secret.h"

namespace weir {
namespace {

constexpr std::string_view kOnlyUser = "default";

Trust trust_of_users(const RespAccess& access) {
  const bool anybody_is_admin = !access.admin_token && access.exposure == Exposure::kLoopback;
  return anybody_is_admin ? Trust::kAdmin : Trust::kUser;
}

}  // namespace

Trust initial_trust(const RespAccess& access) {
  return access.password ? Trust::kStranger : trust_of_users(access);
}

std::optional<Trust> authenticate(const RespAccess& access, std::string_view user,
                                  std::string_view secret) {
  if (user != kOnlyUser) return std::nullopt;
  const bool is_admin = access.admin_token && equals_secret(secret, *access.admin_token);
  const bool is_user = access.password && equals_secret(secret, *access.password);
  if (is_admin) return Trust::kAdmin;
  const bool needs_none = !access.password && !access.admin_token;
  if (is_user || needs_none) return trust_of_users(access);
  return std::nullopt;
}

}  // namespace weir
