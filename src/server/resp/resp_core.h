// RespCore: one core's workbench for answering Redis commands: the engine, the rules in
// force, and everything that is reused from command to command.
//
// Checks of a single key are not answered one by one: up to 16 that arrived together are
// queued, decided in one batch and answered in order. reply() sees to it that they go out
// before anything that came after them.
//
// A store may not have answered when a command has been handled: then engine().waits(), and
// what was replied goes nowhere, because the session handles the same bytes again
// (engine/visit.h).
//
// Thread rule: one core. Tested by resp_commands_test.cc and resp_session_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ip_address.h"
#include "engine/asks.h"
#include "proto/output_buffer.h"
#include "proto/resp/command_reader.h"
#include "proto/resp/reply_writer.h"
#include "rules/rule_set.h"
#include "server/resp/resp_node.h"
#include "weir/quota.h"
#include "weir/result.h"
#include "weir/store.h"

namespace weir {

// What a connection's commands know and change of it.
struct RespClient {
  std::uint64_t id = 0;
  resp::Protocol protocol = resp::Protocol::kResp2;
  Trust trust = Trust::kStranger;
  bool leaving = false;  // nothing more is read; replies that are due are written
  std::string name;
  std::optional<IpAddress> address;
  Instant connected{};
};

// One command. The arguments, its name first, are in the input buffer.
struct RespRequest {
  RespClient& client;
  std::span<const std::string_view> arguments;
  OutputBuffer& out;
  Instant now;
};

// How a decision is written as five integers.
enum class ReplyForm : std::uint8_t {
  kWeir,          // denied, limit, remaining, retry or -1, reset; seconds round up
  kCell,          // the same, rounded as redis-cell does
  kThrottlecrab,  // allowed, limit, remaining, reset, retry or 0; seconds round up
};

class RespCore {
 public:
  RespCore(RespNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules);

  RespNode& node() { return node_; }
  Engine& engine() { return engine_; }
  CoreRespCounts& counts() { return counts_; }
  resp::Arguments& arguments() { return arguments_; }

  const RuleSet& rules() const { return *rules_; }
  // REQUIRES: no check is queued.
  void use_rules(RuleSetPtr rules);

  // As Quota::make. Clients ask with the same numbers again and again, so that the last
  // quota mostly is the next one, and need not be made.
  Result<Quota> make_quota(const QuotaSpec& spec);

  // Finds the command and carries it out.
  void execute(RespRequest& request);

  // For whatever is answered at once: behind the answers to all checks before it.
  resp::ReplyWriter reply(const RespRequest& request);

  // Answers a check of one key, later: at the latest with flush().
  void queue(const RespRequest& request, const Ask& ask, ReplyForm form);

  // Decides and answers the checks in the queue. To be called before control goes back to
  // the event loop.
  void flush(OutputBuffer& out, Instant now);
  bool has_queued() const { return queued_ > 0; }

  // What was decided since the last call took this long to answer.
  void stamp(Duration elapsed) { engine_.record_latency(elapsed); }

  // To decide several asks at once. Answers what is queued first.
  Asks& begin_asks(const RespRequest& request, Operation operation);

 private:
  RespNode& node_;
  Engine& engine_;
  CoreRespCounts& counts_;
  RuleSetPtr rules_;
  Asks asks_;
  resp::Arguments arguments_;
  QuotaSpec last_spec_;  // at first one that nobody asks with, its window being 0
  Quota last_quota_;

  std::array<ReplyForm, Asks::kAsksMax> queue_;
  std::size_t queued_ = 0;
};

// The five integers of a decision.
void write_decision(resp::ReplyWriter& reply, const Decision& decision, ReplyForm form);

inline constexpr std::string_view kStoreUnavailable =
    "ERR the store did not answer; nothing was decided";

}  // namespace weir
