// HttpCore: one core's tools for answering HTTP requests: the engine, the rules in force, the
// routes, and all memory that requests reuse.
//
// The handler of a route (routes.h) turns an Exchange into its answer through the functions here.
//
// Single checks are not answered one by one: up to 16 that arrived together are queued, decided in
// one batch and answered in order. reply() writes them before the reply of any later request.
//
// A reply without its answer yet is parked (engine/asks/late_asks.h): the handler has ended by
// then, and the function that it passed to decide() writes the reply.
//
// Thread rule: one core. Tested by check/http_check_test.cc and http_session_test.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/name_value.h"
#include "engine/asks/asks_pool.h"
#include "engine/asks/check_queue.h"
#include "engine/asks/late_asks.h"
#include "gate/gate.h"
#include "proto/http/http1_head.h"
#include "proto/http/problem.h"
#include "rules/rule_set.h"
#include "server/http/exchange.h"
#include "server/http/http_node.h"
#include "server/http/reply.h"
#include "server/http/routes.h"

namespace weir {

// Writes the reply to one of several checks that were decided together.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void write_answer(const Recipient& to, const Asks& asks, std::size_t index) = 0;
};
// check:allow(methods): one queue of checks stands before every way to reply
class HttpCore {
 public:
  HttpCore(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules);

  HttpNode& node() { return node_; }
  const Engine& engine() const { return engine_; }
  HttpCounts::Core& counts() { return counts_; }
  BlockList& blocks() { return blocks_; }
  const RuleSet& rules() const { return *asks_.rules(); }
  // REQUIRES: no check is queued.
  void use_rules(RuleSetPtr rules);
  Routes& routes() { return routes_; }

  // Finds the handler of the request and calls it. False, and no change, if the request has to wait
  // until earlier ones are answered: pages tell of all checks before them, and changes come after
  // those.
  bool answer(Exchange& exchange);
  bool may_overtake(const http1::RequestHead& head) const;

  void reply(const Exchange& exchange, const Reply& reply);
  void reply_problem(const Exchange& exchange, const Problem& problem,
                     std::span<const NameValue> fields = {});

  // Does the same for replies that may come later: nothing stands before them.
  void write(const Recipient& to, const Reply& reply);
  void write_problem(const Recipient& to, const Problem& problem,
                     std::span<const NameValue> fields = {});
  // Writes how replies tell of limits.
  GateVoice& voice() { return voice_; }

  // Answers a single check later: at the latest in flush(). The writer must outlive the core.
  void queue(const Exchange& exchange, const Ask& ask, AnswerWriter& writer);
  // Decides the checks in the queue. To be called before control goes back to the event loop.
  void flush(ReplyLine& line, Instant now);

  // Reads the head of the request that is being handled.
  http1::HeadReader& heads() { return heads_; }

  // Forgets the checks of a connection that goes away in the middle of its turn.
  void forget_queued() { queue_.clear(); }

  // Runs an action on this core, soon; any thread may call it. In tests it runs at once.
  using Post = std::function<void(std::function<void()>)>;
  void use_post(Post post) { post_ = std::move(post); }
  const Post& post() const { return post_; }

  // The decisions since the last call took this long to answer.
  void stamp(Duration elapsed) { engine_.traffic().record_latency(elapsed); }

  // For when the store has not answered.
  void write_unavailable(const Recipient& to);

  // For deciding several asks at once. Answers queued checks first.
  AsksPtr begin_asks(const Exchange& exchange, Operation operation);

  // Decides, and has `write(to, asks)` write the reply: now, or when the answers have come. `write`
  // captures what it needs of the request by value; texts of the request stay in place. If the
  // store cannot answer, the reply is a problem.
  template <typename Asked, typename Write>
  void decide(Asked asks, const Exchange& exchange, Write write) {
    decide_any(std::move(asks), exchange,
               [this, write = std::move(write)](const Recipient& to, const Asks& decided) {
                 if (decided.progress() == Asks::Progress::kAnswered) return write(to, decided);
                 write_unavailable(to);
               });
  }
  // Does the same for anything that can be asked, whatever its outcome.
  template <typename Asked, typename Write>
  void decide_any(Asked asked, const Exchange& exchange, Write write) {
    decide_in_line(
        exchange.line, std::move(asked), exchange.now,
        [to = Recipient(exchange), write = std::move(write)](
            ReplySink& out, Instant now, const auto& decided) { write(to.at(out, now), decided); });
  }

 private:
  // How to answer a queued check.
  struct Queued {
    AnswerWriter* writer = nullptr;
    RouteId route = kNoRoute;
    AfterReply after = AfterReply::kStay;
  };
  using Queue = CheckQueue<Queued>;

  const HttpDate& date(Instant now);

  HttpNode& node_;
  Engine& engine_;
  HttpCounts::Core& counts_;
  BlockList& blocks_;
  Routes routes_;
  AsksPool asks_;
  GateVoice voice_;
  Queue queue_{asks_};
  http1::HeadReader heads_;
  Post post_ = [](const std::function<void()>& action) { action(); };
  HttpDate date_{};
  std::int64_t date_epoch_s_ = -1;
};

}  // namespace weir
