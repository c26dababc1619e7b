#include "server/http/console/console_access.h"

namespace weir {

std::optional<SessionHash> session_of(HttpNode& node, const AccessClaim& claim, Instant now) {
  if (claim.session.empty() || !claim.is_from_own_page()) return std::nullopt;
  return node.sessions().use(claim.session, now);
}

}  // namespace weir
