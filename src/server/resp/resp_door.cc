#include "server/resp/resp_door.h"

#include "server/resp/resp_session.h"

namespace weir {

std::unique_ptr<Session> RespDoor::make_session(const Peer& peer, Instant now) {
  return std::make_unique<RespSession>(core_, peer, now);
}

}  // namespace weir
