#include "server/http/http_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/nearest_name.h"
#include "proto/header_fields.h"
#include "server/http/access.h"
#include "server/http/check_reply.h"
#include "server/http/routes.h"

namespace weir {
namespace {

constexpr std::size_t kScratchInitial = 32 << 10;  // the longest key, escaped, and more

// "http://host/path" is how a proxy is asked; RFC 9112 wants servers to accept it, too.
std::string_view without_authority(std::string_view target) {
  if (target.starts_with('/')) return target;
  const auto scheme_end = target.find("://");
  if (scheme_end == std::string_view::npos) return target;
  const auto path = target.find('/', scheme_end + 3);
  return path == std::string_view::npos ? "/" : target.substr(path);
}

void split_target(Exchange& exchange) {
  const std::string_view target = without_authority(exchange.head.target);
  const auto question_mark = target.find('?');
  exchange.path = target.substr(0, question_mark);
  if (question_mark != std::string_view::npos) exchange.query = target.substr(question_mark + 1);
}

Problem not_found(std::string_view path) {
  std::array<std::string_view, kRouteIdCount> paths;
  const auto end = std::transform(routes().begin(), routes().end(), paths.begin(),
                                  [](const Route& route) { return route.path; });
  const std::span<const std::string_view> candidates(paths.begin(), end);
  return http_problem(404, "There is nothing here; " + name_hint(path, candidates));
}

}  // namespace

HttpCore::HttpCore(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
    : node_(node),
      engine_(engine),
      counts_(node.counts().add_core()),
      blocks_(blocks),
      rules_(std::move(rules)),
      asks_(engine, blocks),
      rls_(engine, blocks, rules_, node.rls_options()),
      scratch_(std::make_unique<char[]>(kScratchInitial)),
      scratch_size_(kScratchInitial) {
  if (rules_ == nullptr) rules_ = std::make_shared<const RuleSet>();
}

void HttpCore::use_rules(RuleSetPtr rules) {
  WEIR_ASSERT(queued_ == 0 && rules != nullptr);
  rules_ = std::move(rules);
  rls_.use_rules(rules_);
}

void HttpCore::answer(Exchange& exchange) {
  split_target(exchange);
  const Route* const found = find_route(exchange.path);
  if (found == nullptr) return reply_problem(exchange, not_found(exchange.path));

  exchange.route = found->id;
  if (!found->methods.holds(exchange.head.method)) {
    const std::string methods = method_names(found->methods);
    return reply_problem(exchange, http_problem(405, "Methods here: " + methods + "."),
                         "Allow: " + methods + "\r\n");
  }
  if (found->access == RouteAccess::kAdmin) {
    const AccessClaim claim{.authorization = exchange.head.authorization,
                            .origin = exchange.head.origin,
                            .host = exchange.head.host};
    const auto refusal = access_refusal(node_.access(), claim);
    if (refusal) return reply_problem(exchange, refusal->problem, refusal->fields);
  }
  // A page tells about all checks that came before it, and a change comes after them.
  const bool is_check = exchange.head.method == http1::Method::kPost;
  if (!is_check || found->access == RouteAccess::kAdmin) flush(exchange.out, exchange.now);
  if (!engine_.waits()) found->handle(*this, exchange);
}

void HttpCore::reply(const Exchange& exchange, ReplyHead head, std::string_view body) {
  flush(exchange.out, exchange.now);
  if (engine_.waits()) return;
  head.after = exchange.after;
  if (exchange.head.method == http1::Method::kHead) head.send_body = SendBody::kNo;
  exchange.out.add(head, body, date(exchange.now));
  counts_.record(exchange.route, head.status);
}

void HttpCore::reply_problem(const Exchange& exchange, const Problem& problem,
                             std::string_view fields) {
  reply(exchange, {.status = problem.status, .content_type = kProblemContentType, .fields = fields},
        to_json(problem));
}

void HttpCore::queue(const Exchange& exchange, const CheckTerms& terms) {
  if (queued_ == 0) asks_.begin(Operation::kSpendEach);
  const bool added = asks_.add(terms.ask);
  WEIR_ASSERT(added);
  queue_[queued_++] = {.key_json = terms.key_json,
                       .policy = terms.policy,
                       .route = exchange.route,
                       .after = exchange.after};
  if (queued_ == queue_.size()) flush(exchange.out, exchange.now);
}

void HttpCore::flush(ReplySink& out, Instant now) {
  if (queued_ == 0) return;
  const std::size_t count = std::exchange(queued_, 0);
  const bool store_answered = asks_.decide(now);
  if (engine_.waits()) return;
  const auto answers = asks_.answers();
  for (std::size_t i = 0; i < count; ++i) {
    const Queued& queued = queue_[i];
    if (store_answered || answers[i].cause != Answer::Cause::kCounted) {
      add_answer(out, queued, answers[i], now);
      continue;
    }
    const Problem problem = store_unavailable();
    out.add({.status = problem.status, .content_type = kProblemContentType, .after = queued.after},
            to_json(problem), date(now));
    counts_.record(queued.route, problem.status);
  }
}

Asks& HttpCore::begin_asks(const Exchange& exchange, Operation operation) {
  flush(exchange.out, exchange.now);  // asks_ are theirs until then
  asks_.begin(operation);
  return asks_;
}

std::span<const NameValue> HttpCore::headers_of(const Exchange& exchange) {
  if (!exchange.headers.empty()) return exchange.headers;
  headers_.clear();
  http1::read_header_fields(exchange.head.text, headers_);
  return headers_;
}

std::span<CheckTerms> HttpCore::list_terms(std::size_t size) {
  WEIR_ASSERT(size <= kChecksMax);
  if (list_terms_.size() < size) list_terms_.resize(kChecksMax);
  return {list_terms_.data(), size};
}

void HttpCore::reply_answer(const Exchange& exchange, const CheckTerms& terms,
                            const Answer& answer) {
  const Queued single{.key_json = terms.key_json,
                      .policy = terms.policy,
                      .route = exchange.route,
                      .after = exchange.after};
  add_answer(exchange.out, single, answer, exchange.now);
}

void HttpCore::add_answer(ReplySink& out, const Queued& queued, const Answer& answer, Instant now) {
  char* const fields =
      scratch(rate_limit_headers_max(queued.policy) + kDecisionJsonMax + queued.key_json.size());
  TextWriter writer(fields);
  write_rate_limit_headers(writer, policy_of(queued.policy, answer), answer.decision);
  char* const body = writer.end();
  write_decision_json(writer, queued.key_json, answer);
  const auto size = [](const char* from, const char* to) {
    return static_cast<std::size_t>(to - from);
  };
  out.add({.fields = {fields, size(fields, body)}, .after = queued.after},
          {body, size(body, writer.end())}, date(now));
  counts_.record(queued.route, 200);
}

const HttpDate& HttpCore::date(Instant now) {
  const Instant wall_time = engine_.wall_time(now);
  const auto epoch_s =
      std::chrono::floor<std::chrono::seconds>(wall_time.time_since_epoch()).count();
  if (epoch_s != date_epoch_s_) {
    date_ = http_date(wall_time);
    date_epoch_s_ = epoch_s;
  }
  return date_;
}

char* HttpCore::scratch(std::size_t size) {
  if (scratch_size_ < size) {
    scratch_ = std::make_unique<char[]>(size);
    scratch_size_ = size;
  }
  return scratch_.get();
}

}  // namespace weir
