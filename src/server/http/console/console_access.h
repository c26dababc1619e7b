// The rights of those who look at the console.
//
// Thread rule: any thread. Tested by http_console_session_test.cc and http_live_test.cc.

#pragma once

#include <optional>

#include "server/http/access.h"
#include "server/http/console/console_sessions.h"
#include "server/http/http_node.h"
#include "weir/time.h"

namespace weir {

// The session that the claim shows, which is in use now. Only our own page can show one.
std::optional<SessionHash> session_of(HttpNode& node, const AccessClaim& claim, Instant now);

}  // namespace weir
