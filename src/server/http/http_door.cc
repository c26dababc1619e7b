#include "server/http/http_door.h"

#include "server/http/http_session.h"

namespace weir {

std::unique_ptr<Session> HttpDoor::make_session(const Peer& peer, Instant now) {
  return std::make_unique<HttpSession>(core_, peer, now);
}

}  // namespace weir
