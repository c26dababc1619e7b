// HttpCore: one core's workbench for answering HTTP requests: the engine, the rules in
// force, and everything that is reused from request to request.
//
// An Exchange is one request on its way to its answer. Handlers (handlers.h) turn one
// into the other through the functions here.
//
// Single checks are not answered one by one: up to 16 that arrived together are
// queued, decided in one batch and answered in order (CheckQueue). reply() sees to it
// that they go out before anything that came after them.
//
// Thread rule: one core. Tested by http_check_test.cc and http_session_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "engine/asks.h"
#include "proto/http1_head.h"
#include "rls/json_service.h"
#include "rls/rate_limit_service.h"
#include "rules/rule_set.h"
#include "server/http/check_body.h"
#include "server/http/check_terms.h"
#include "server/http/forward_auth.h"
#include "server/http/http_counts.h"
#include "server/http/http_node.h"
#include "server/http/problem.h"
#include "server/http/replies.h"
#include "weir/store.h"

namespace weir {

// One request. All texts are in the input buffer.
struct Exchange {
  const http1::RequestHead& head;
  CheckReader::Source body;
  Instant now;
  ReplySink& out;
  AfterReply after = AfterReply::kStay;
  std::optional<IpAddress> peer{};
  std::span<const NameValue> headers{};  // if the protocol has them apart from `head`

  // Set by routing.
  std::string_view path;
  std::string_view query;  // without the '?'
  RouteId route = RouteId::kNone;
};

class HttpCore {
 public:
  HttpCore(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules);

  HttpNode& node() { return node_; }
  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  CoreHttpCounts& counts() { return counts_; }
  CheckReader& reader() { return reader_; }
  rls::JsonService& rls() { return rls_json_; }

  BlockList& blocks() { return blocks_; }
  const RuleSet& rules() const { return *rules_; }
  // REQUIRES: no check is queued.
  void use_rules(RuleSetPtr rules);

  // Finds the handler of the request and calls it.
  void answer(Exchange& exchange);

  // Answers with what is in `body`.
  void reply(const Exchange& exchange, ReplyHead head, std::string_view body);
  void reply_json(const Exchange& exchange, std::string_view body) { reply(exchange, {}, body); }
  void reply_problem(const Exchange& exchange, const Problem& problem,
                     std::string_view fields = {});

  // Answers a single check, later: at the latest with flush().
  void queue(const Exchange& exchange, const CheckTerms& terms);

  // Decides and answers the checks in the queue. To be called before control goes back to
  // the event loop.
  void flush(ReplySink& out, Instant now);
  bool has_queued() const { return queued_ > 0; }

  // What was decided since the last call took this long to answer.
  void stamp(Duration elapsed) { engine_.record_latency(elapsed); }

  // To decide several asks at once. Answers what is queued first.
  Asks& begin_asks(const Exchange& exchange, Operation operation);

  // Answers a single check.
  void reply_answer(const Exchange& exchange, const CheckTerms& terms, const Answer& answer);

  // Memory to format a reply in before its length is known. At least `size` bytes.
  char* scratch(std::size_t size);

  // All header fields of the request. Valid until the next call.
  std::span<const NameValue> headers_of(const Exchange& exchange);

  // Memory for the keys of rules, and for what a proxy says.
  std::string& key_scratch() { return key_scratch_; }
  AuthScratch& auth_scratch() { return auth_scratch_; }

  // Room for the terms of a list of checks. REQUIRES: size <= kChecksMax
  std::span<CheckTerms> list_terms(std::size_t size);

 private:
  struct Queued {
    std::string_view key_json{};
    std::string_view policy{};
    RouteId route = RouteId::kNone;
    AfterReply after = AfterReply::kStay;
  };

  const HttpDate& date(Instant now);
  void add_answer(ReplySink& out, const Queued& queued, const Answer& answer, Instant now);

  HttpNode& node_;
  Engine& engine_;
  CoreHttpCounts& counts_;
  BlockList& blocks_;
  RuleSetPtr rules_;
  CheckReader reader_;
  Asks asks_;
  rls::RateLimitService rls_;
  rls::JsonService rls_json_{rls_};

  std::array<Queued, Batch::kChargesMax> queue_;
  std::size_t queued_ = 0;

  std::vector<NameValue> headers_;
  std::string key_scratch_;
  AuthScratch auth_scratch_;
  std::vector<CheckTerms> list_terms_;
  std::unique_ptr<char[]> scratch_;
  std::size_t scratch_size_ = 0;
  HttpDate date_{};
  std::int64_t date_epoch_s_ = -1;
};

}  // namespace weir
