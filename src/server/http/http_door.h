// HttpDoor: makes the HTTP sessions of one core.
//
//   HttpNode node({.access = ...});                 one a process
//   HttpDoor door(node, engine, blocks, rules);     one a core
//   add_check_routes(door.core(), CheckRoutes::kAll);
//
// Thread rule: the core that owns it. Tested by http_session_test.cc.

#pragma once

#include <memory>
#include <utility>

#include "proto/session.h"
#include "server/http/http2_api.h"
#include "server/http/http_core.h"
#include "server/http/http_session.h"

namespace weir {

class HttpDoor final : public SessionFactory {
 public:
  // `node` and `engine` must outlive the door, and the door its sessions.
  HttpDoor(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
      : core_(node, engine, blocks, std::move(rules)) {}

  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override {
    return std::make_unique<HttpSession>(core_, peer, now);
  }

  // The same routes for requests that come over HTTP/2.
  Http2Service& http2() { return http2_; }

  // Its maker adds routes here before it serves.
  HttpCore& core() { return core_; }

  // From the next request on. To be called on the core, outside any session's call.
  void use_rules(RuleSetPtr rules) { core_.use_rules(std::move(rules)); }

 private:
  HttpCore core_;
  Http2Api http2_{core_};
};

}  // namespace weir
