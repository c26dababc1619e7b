// HttpCore: one core's workbench for answering HTTP requests: the engine, the rules in
// force, and everything that is reused from request to request.
//
// An Exchange is one request on its way to its answer. Handlers (handlers.h) turn one
// into the other through the functions here.
//
// Single checks are not answered one by one: up to 16 that arrived together are
// queued, decided in one batch and answered in order. reply() sees to it that they go out
// before anything that came after them.
//
// A reply whose answer is not there yet is parked (engine/asks/late_asks.h): the handler has ended
// by then, and what it passed to decide() writes the reply.
//
// Thread rule: one core. Tested by check/http_check_test.cc and http_session_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "base/pool.h"
#include "engine/asks/asks_pool.h"
#include "engine/asks/check_queue.h"
#include "engine/asks/late_asks.h"
#include "gate/gate.h"
#include "proto/http/http1_head.h"
#include "proto/session.h"
#include "rls/rate_limit_service.h"
#include "rules/rule_set.h"
#include "server/http/check/check_body.h"
#include "server/http/console/live_session.h"
#include "server/http/http_counts.h"
#include "server/http/http_node.h"
#include "server/http/problem.h"
#include "server/http/reply.h"
#include "weir/store.h"

namespace weir {

struct Route;

// One request. All texts are in the input buffer.
struct Exchange : Recipient {
  Exchange(ReplyLine& to, AfterReply then, Instant arrived, const http1::RequestHead& of,
           const CheckReader::Source& sent)
      : Recipient{.out = &to, .now = arrived, .after = then}, line(to), head(of), body(sent) {}

  ReplyLine& line;
  const http1::RequestHead& head;
  CheckReader::Source body;
  std::optional<IpAddress> peer{};
  std::span<const NameValue> headers{};  // if the protocol has them apart from `head`
  // Set by a handler whose reply is the last of HTTP: who goes on with the connection.
  std::unique_ptr<Session> successor{};

  // Set by routing.
  std::string_view path{};
  std::string_view query{};  // without the '?'
};

// All header fields of the request; in `room`, if they have to be taken apart.
std::span<const NameValue> headers_of(const Exchange& exchange, std::vector<NameValue>& room);

class HttpCore {
 public:
  HttpCore(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules);

  HttpNode& node() { return node_; }
  const Engine& engine() const { return engine_; }
  HttpCounts::Core& counts() { return counts_; }
  CheckReader& reader() { return reader_; }
  rls::RateLimitService& rls() { return rls_; }

  BlockList& blocks() { return blocks_; }
  LiveConsoles& consoles() { return consoles_; }
  const RuleSet& rules() const { return *asks_.rules(); }
  // REQUIRES: no check is queued.
  void use_rules(RuleSetPtr rules);

  // Finds the handler of the request and calls it. False, and nothing has happened, if the
  // request has to wait until those before it are answered: pages tell about all checks
  // before them, and changes come after those.
  bool answer(Exchange& exchange);
  static bool may_overtake(const http1::RequestHead& head);

  // Whether the client may not use admin routes: then it has its reply.
  bool refuse_access(Exchange& exchange);
  // The same for a query with what the route does not know.
  bool refuse_parameters(const Exchange& exchange, const Route& route);
  // The same for the console's files, which are for everybody.
  bool refuse_host(const Exchange& exchange);
  // Whether the token that the client shows is right. If the verdict is a refusal, because too many
  // wrong ones came from there, the client has its reply, and the connection closes.
  // REQUIRES: there is an admin token
  LoginGuard::Verdict judge(Exchange& exchange, const std::function<bool()>& is_right);
  // The client, as bounds of the node count it.
  Caller caller_of(const Exchange& exchange);

  void reply(const Exchange& exchange, const Reply& reply);
  void reply_json(const Exchange& exchange, std::string_view body) {
    reply(exchange, {.body = body});
  }
  void reply_problem(const Exchange& exchange, const Problem& problem,
                     std::span<const NameValue> fields = {});

  // The same for replies that may come later: nothing stands between them and their place.
  void write(const Recipient& to, const Reply& reply);
  void write_problem(const Recipient& to, const Problem& problem,
                     std::span<const NameValue> fields = {});
  // The reply to a single check.
  void write_answer(const Recipient& to, const Asks& asks, std::size_t index);
  // What replies say of limits.
  GateVoice& voice() { return voice_; }

  // Answers a single check, later: at the latest with flush().
  void queue(const Exchange& exchange, const Ask& ask);
  // Decides the checks in the queue. To be called before control goes back to the event loop.
  void flush(ReplyLine& line, Instant now);

  // A connection that goes away in the middle of its turn takes its checks along.
  void forget_queued() { queue_.clear(); }

  // Runs an action on this core, soon; any thread may call it. In tests it runs at once.
  using Post = std::function<void(std::function<void()>)>;
  void use_post(Post post) { post_ = std::move(post); }
  const Post& post() const { return post_; }

  // What was decided since the last call took this long to answer.
  void stamp(Duration elapsed) { engine_.traffic().record_latency(elapsed); }

  // To decide several asks at once. Answers what is queued first.
  AsksPtr begin_asks(const Exchange& exchange, Operation operation);

  // Decides, and has `write(to, asks)` write the reply: now, or when the answers have come.
  // What it needs of the request it captures by value; texts of the request itself stay where
  // they are. If the store cannot answer, the reply is a problem.
  template <typename Write>
  void decide(AsksPtr asks, const Exchange& exchange, Write write) {
    decide_any(std::move(asks), exchange,
               [this, write = std::move(write)](const Recipient& to, const Asks& decided) {
                 if (decided.progress() == Asks::Progress::kAnswered) return write(to, decided);
                 write_problem(to, store_unavailable());
               });
  }
  // The same for a call of Envoy's service, whatever its outcome is.
  template <typename Write>
  void decide(rls::RateLimitService::CallPtr call, const Exchange& exchange, Write write) {
    decide_any(std::move(call), exchange, std::move(write));
  }

  // Memory to format a reply in before its length is known. At least `size` bytes.
  char* scratch(std::size_t size);

  // Memory for a request that is described to us.
  Pool<DescribedRequest>::Ptr take_described() { return described_.take(); }

 private:
  // How a queued check is to be answered.
  struct Queued {
    RouteId route = kNoRoute;
    AfterReply after = AfterReply::kStay;
  };
  using Queue = CheckQueue<Queued>;

  template <typename Asked, typename Write>
  void decide_any(Asked asked, const Exchange& exchange, Write write) {
    decide_in_line(
        exchange.line, std::move(asked), exchange.now,
        [to = Recipient(exchange), write = std::move(write)](
            ReplySink& out, Instant now, const auto& decided) { write(to.at(out, now), decided); });
  }
  void refuse_route(Exchange& exchange, const Route* found);
  void write_queued(ReplySink& out, Instant now, const Asks& asks, const Queue::Notes& notes);
  const HttpDate& date(Instant now);

  HttpNode& node_;
  Engine& engine_;
  HttpCounts::Core& counts_;
  BlockList& blocks_;
  CheckReader reader_;
  AsksPool asks_;
  GateVoice voice_;
  Queue queue_{asks_};
  rls::RateLimitService rls_;
  LiveConsoles consoles_;

  Post post_ = [](const std::function<void()>& action) { action(); };
  std::vector<NameValue> header_room_;
  Pool<DescribedRequest> described_;
  std::unique_ptr<char[]> scratch_;
  std::size_t scratch_size_ = 0;
  HttpDate date_{};
  std::int64_t date_epoch_s_ = -1;
};

}  // namespace weir
