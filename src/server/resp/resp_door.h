// RespDoor: makes the sessions of Redis clients of one core.
//
//   RespNode node({.version = ..., .access = ...}, traffic);     one a process
//   RespDoor door(node, engine, rules);                          one a core
//
// Thread rule: the core that owns it. Tested by resp_session_test.cc.

#pragma once

#include <memory>
#include <utility>

#include "proto/session.h"
#include "server/resp/resp_session.h"

namespace weir {

class RespDoor final : public SessionFactory {
 public:
  // `node` and `engine` must outlive the door, and the door its sessions.
  RespDoor(RespNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
      : core_(node, engine, blocks, std::move(rules)) {}

  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override {
    return std::make_unique<RespSession>(core_, peer, now);
  }

  // From the next command on. To be called on the core, outside any session's call.
  void use_rules(RuleSetPtr rules) { core_.use_rules(std::move(rules)); }

 private:
  RespCore core_;
};

}  // namespace weir
