// RespCore: one core's tools for answering Redis commands: the engine, the rules in force, and all
// memory that commands reuse.
//
// Checks of a single key are not answered one by one: up to 16 that arrived together are queued,
// decided in one batch and answered in order. reply() writes them before the reply of any later
// command.
//
// A reply without its answer yet is parked in the session's line (engine/asks/late_asks.h).
//
// Thread rule: one core. Tested by resp_commands_test.cc and resp_session_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/ip_address.h"
#include "base/late_reply.h"
#include "engine/asks/asks_pool.h"
#include "engine/asks/check_queue.h"
#include "engine/asks/late_asks.h"
#include "proto/output_buffer.h"
#include "proto/resp/command_reader.h"
#include "proto/resp/reply_writer.h"
#include "rules/rule_set.h"
#include "server/resp/resp_node.h"
#include "server/resp/transaction.h"
#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

// The state of a connection that its commands read and change.
struct RespClient {
  std::uint64_t id = 0;
  resp::Protocol protocol = resp::Protocol::kResp2;
  Trust trust = Trust::kStranger;
  bool leaving = false;  // reads nothing more; writes replies that are due
  int failed_logins = 0;
  std::string name;
  std::optional<IpAddress> address;
  Instant connected{};
  std::unique_ptr<Transaction> transaction{};  // between MULTI and the last reply to EXEC

  bool queues() const { return transaction != nullptr && !transaction->is_running(); }
  bool runs() const { return transaction != nullptr && transaction->is_running(); }
};

class Rehearsal;

namespace resp {
struct Command;
struct Lookup;
}  // namespace resp

// The destination of a connection's replies, in the order of its commands.
class RespLine {
 public:
  using Out = OutputBuffer;

  // The end of the output, behind all earlier replies.
  virtual OutputBuffer& end() = 0;
  // A reply before the next one has not been written yet.
  virtual bool waits() const = 0;
  // Keeps the turn of a reply that comes later.
  virtual void park(std::unique_ptr<LateReply<OutputBuffer>> late, Instant now) = 0;

 protected:
  ~RespLine() = default;
};

// One command. The arguments, its name first, are in the input buffer.
struct RespRequest {
  RespClient& client;
  std::span<const std::string_view> arguments;
  RespLine& line;
  Instant now;
  Rehearsal* rehearsal = nullptr;  // if set, nothing is decided
  bool is_last_throttle = false;   // set when it is queued as last_throttle()
};

// How a decision is written as five integers.
enum class ReplyForm : std::uint8_t {
  kWeir,          // denied, limit, remaining, retry or -1, reset; seconds round up
  kCell,          // the same, rounded as redis-cell does
  kThrottlecrab,  // allowed, limit, remaining, reset, retry or 0; seconds round up
};

inline constexpr std::string_view kStoreUnavailable =
    "ERR the store did not answer in time; nobody knows what it did";

// A throttle command, and the ask that its numbers make. Clients repeat the same numbers for key
// after key: the next command mostly has the bytes of the last one, except for its key.
struct Throttle {
  ReplyForm form = ReplyForm::kWeir;
  Ask ask{};             // without its key
  std::string before{};  // the bytes before its key's length; empty: not kept
  std::string behind{};  // the bytes behind its key

  void keep(std::string_view command, std::string_view key);
  // The key of a command with the same bytes; nullopt if the command has to be read.
  std::optional<std::string_view> key_in(std::string_view input) const;
};

class RespCore {
 public:
  RespCore(RespNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules);

  RespNode& node() { return node_; }
  RespCounts::Core& counts() { return counts_; }
  resp::Arguments& arguments() { return arguments_; }

  Engine& engine() { return engine_; }

  const RuleSet& rules() const { return *asks_.rules(); }
  // REQUIRES: no check is queued.
  void use_rules(RuleSetPtr rules);

  // The last valid throttle command, and the place for a new one. Two are kept, for clients that
  // take turns.
  Throttle& last_throttle() { return throttles_[last_throttle_]; }
  Throttle& new_throttle() { return throttles_[last_throttle_ ^= 1]; }

  // The key of a command with the bytes of one of the two, which becomes the last.
  std::optional<std::string_view> throttled_key(std::string_view input);
  // Queues the last one again. REQUIRES: the client's last command was a throttle command
  void repeat_throttle(const RespRequest& request, std::string_view key);

  // Finds the command and carries it out, or queues it behind MULTI. False, and no change, if it
  // has to wait until earlier ones are answered: a command that is no check may change the client
  // or the node. A client that guessed a password wrong waits with every command.
  bool execute(RespRequest& request);

  // For replies that are ready: they come behind the answers to all earlier checks.
  resp::ReplyWriter reply(const RespRequest& request);

  // Answers with an error, after a pause in which the connection waits.
  void reply_late(const RespRequest& request, std::string_view error, Duration pause);

  // Answers a check of one key later: at the latest in flush().
  void queue(const RespRequest& request, const Ask& ask, ReplyForm form);

  // Decides the checks in the queue. To be called before control goes back to the event loop.
  void flush(RespLine& line, Instant now);
  // Forgets the checks of a connection that goes away in the middle of its turn.
  void forget_queued() { queue_.clear(); }

  // The decisions since the last call took this long to answer.
  void stamp(Duration elapsed) { engine_.traffic().record_latency(elapsed); }

  // For deciding several asks at once. Answers queued checks first.
  AsksPtr begin_asks(const RespRequest& request, Operation operation);

  // Decides, and has `write(reply, asks)` write the reply: now, or when the answers have come.
  // `write` captures what it needs of the command by value. If the store cannot answer, the reply
  // is an error.
  template <typename Asked, typename Write>
  void decide(Asked asks, const RespRequest& request, Write write) {
    if (request.rehearsal != nullptr) return;
    decide_in_line(request.line, std::move(asks), request.now,
                   [write, protocol = request.client.protocol](OutputBuffer& out, Instant,
                                                               const Asks& decided) {
                     resp::ReplyWriter reply(out, protocol);
                     if (decided.progress() == Asks::Progress::kAnswered) {
                       return write(reply, decided);
                     }
                     reply.error(kStoreUnavailable);
                   });
  }

 private:
  void execute(RespRequest& request, const resp::Lookup& found);
  // As resp::find_command. Clients repeat the same command, in the same case of letters.
  resp::Lookup find_command(const RespRequest& request);

  RespNode& node_;
  Engine& engine_;
  RespCounts::Core& counts_;
  AsksPool asks_;
  resp::Arguments arguments_;
  std::array<Throttle, 2> throttles_;
  std::size_t last_throttle_ = 0;
  std::string last_name_;  // of a command without subcommands; empty: none yet
  const resp::Command* last_command_ = nullptr;

  CheckQueue<ReplyForm> queue_{asks_};
};

// The five integers of a decision.
void write_decision(resp::ReplyWriter& reply, const Decision& decision, ReplyForm form);

}  // namespace weir
