#include "server/http/console/console_access.h"

namespace weir {

std::optional<SessionHash> session_of(HttpNode& node, const AccessClaim& claim, Instant now) {
  if (!claim.is_from_own_page()) return std::nullopt;
  for (const auto name : claim.sessions) {
    if (const auto session = node.sessions().use(name, now)) return session;
  }
  return std::nullopt;
}

}  // namespace weir
