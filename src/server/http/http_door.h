// HttpDoor: makes the HTTP sessions of one core.
//
//   HttpNode node({.info = ..., .access = ...}, traffic);        one a process
//   HttpDoor door(node, engine, rules);                          one a core
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

  // Before the core serves: how other threads have something run on it.
  void use_post(HttpCore::Post post) { core_.use_post(std::move(post)); }

  // Sends the message of another second to the consoles that listen on this core. As above.
  void publish(const LiveMessagePtr& message, Instant now) {
    core_.consoles().publish(message, now);
  }

  // From the next request on. To be called on the core, outside any session's call.
  void use_rules(RuleSetPtr rules) { core_.use_rules(std::move(rules)); }

 private:
  HttpCore core_;
  Http2Api http2_{core_};
};

}  // namespace weir
