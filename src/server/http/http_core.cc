#include "server/http/http_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/nearest_name.h"
#include "proto/http/http1_head.h"
#include "server/http/access.h"
#include "server/http/check/check_reply.h"
#include "server/http/console/console_access.h"
#include "server/http/query.h"
#include "server/http/routes.h"

namespace weir {
namespace {

constexpr std::size_t kScratchInitial = 32 << 10;  // the longest key, escaped, and more

// Clients send "http://host/path" to a proxy; RFC 9112 wants servers to accept it, too.
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
  std::array<std::string_view, kRouteCount> paths;
  const auto end = std::transform(routes().begin(), routes().end(), paths.begin(),
                                  [](const Route& route) { return route.path; });
  const std::span<const std::string_view> candidates(paths.begin(), end);
  return http_problem(404, "There is nothing here; " + name_hint(path, candidates));
}

// Whether it decides, and neither tells about other requests nor changes anything else.
bool is_check(const Route& route, http1::Method method) {
  const bool decides = method == http1::Method::kPost || route.takes_anything();
  return decides && route.access == RouteAccess::kAnybody;
}

}  // namespace

std::span<const NameValue> headers_of(const Exchange& exchange, std::vector<NameValue>& room) {
  if (!exchange.headers.empty()) return exchange.headers;
  room.clear();
  http1::read_header_fields(exchange.head.text, room);
  return room;
}

HttpCore::HttpCore(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
    : node_(node),
      engine_(engine),
      counts_(node.counts().add_core()),
      blocks_(blocks),
      asks_(engine, blocks, std::move(rules)),
      voice_(engine, node.options().headers),
      rls_(engine, blocks, asks_.rules(), node.options().rls),
      scratch_(std::make_unique<char[]>(kScratchInitial)),
      scratch_size_(kScratchInitial) {}

void HttpCore::use_rules(RuleSetPtr rules) {
  WEIR_ASSERT(queue_.empty() && rules != nullptr);
  asks_.use_rules(rules);
  rls_.use_rules(std::move(rules));
}

bool HttpCore::may_overtake(const http1::RequestHead& head) {
  const std::string_view target = without_authority(head.target);
  const Route* const found = find_route(target.substr(0, target.find('?')), head.method);
  return found == nullptr || is_check(*found, head.method);
}

bool HttpCore::answer(Exchange& exchange) {
  split_target(exchange);
  if (exchange.head.method == http1::Method::kHead) exchange.send_body = SendBody::kNo;
  if (exchange.head.repeats_authorization) {
    reply_problem(exchange, repeated_field("Authorization"));
    return true;
  }
  const Route* found = find_route(exchange.path, exchange.head.method);
  const bool is_off = !node_.options().console.is_on();
  if (found != nullptr && found->access == RouteAccess::kConsole && is_off) found = nullptr;
  if (found == nullptr || !found->methods.holds(exchange.head.method)) {
    refuse_route(exchange, found);
    return true;
  }
  exchange.route = route_id(*found);
  if (!is_check(*found, exchange.head.method)) {
    flush(exchange.line, exchange.now);
    if (exchange.line.waits()) return false;
  }
  const bool is_admin = found->access == RouteAccess::kAdmin;
  if (is_admin && (refuse_access(exchange) || refuse_parameters(exchange, *found))) return true;
  if (found->access == RouteAccess::kConsole && refuse_host(exchange)) return true;
  found->handle(*this, exchange);
  return true;
}

void HttpCore::refuse_route(Exchange& exchange, const Route* found) {
  if (found == nullptr) return reply_problem(exchange, not_found(exchange.path));
  exchange.route = route_id(*found);
  const std::string methods = method_names(found->methods);
  const NameValue allow{"Allow", methods};
  reply_problem(exchange, http_problem(405, "Methods here: " + methods + "."), {&allow, 1});
}

bool HttpCore::refuse_access(Exchange& exchange) {
  const HttpAccess& access = node_.options().access;
  const bool shows_token = access.admin_token && !exchange.head.authorization.empty();
  const AccessClaim claim = read_claim(exchange.head, headers_of(exchange, header_room_));
  if (!shows_token && session_of(node_, claim, exchange.now)) return false;
  std::optional<AccessRefusal> refusal;
  const auto may_enter = [&] {
    refusal = access_refusal(access, claim);
    return !refusal;
  };
  if (shows_token ? judge(exchange, may_enter).is_right : may_enter()) return false;
  if (refusal) reply_problem(exchange, refusal->problem, refusal->fields);
  return true;
}

bool HttpCore::refuse_parameters(const Exchange& exchange, const Route& route) {
  const bool reads = http1::only_reads(exchange.head.method);
  const auto refusal = unknown_parameter(
      exchange.query, reads ? route.parameters.of_get : route.parameters.of_others);
  if (refusal) reply_problem(exchange, *refusal);
  return refusal.has_value();
}

bool HttpCore::refuse_host(const Exchange& exchange) {
  const auto refusal = host_refusal(node_.options().access, exchange.head.host);
  if (refusal) reply_problem(exchange, refusal->problem, refusal->fields);
  return refusal.has_value();
}

LoginGuard::Verdict HttpCore::judge(Exchange& exchange, const std::function<bool()>& is_right) {
  const auto verdict = node_.options().logins->judge(caller_of(exchange), is_right, exchange.now);
  if (!verdict.is_refused()) return verdict;
  exchange.after = AfterReply::kClose;
  const std::string seconds = std::to_string(whole_seconds(verdict.wait));
  const NameValue retry_after{"Retry-After", seconds};
  reply_problem(exchange,
                http_problem(429,
                             "Too many wrong admin tokens came from this address, or through "
                             "proxies together."),
                {&retry_after, 1});
  return verdict;
}

Caller HttpCore::caller_of(const Exchange& exchange) {
  return weir::caller_of(exchange.peer, headers_of(exchange, header_room_),
                         node_.options().trusted_proxies);
}

void HttpCore::reply(const Exchange& exchange, const Reply& reply) {
  flush(exchange.line, exchange.now);
  write(exchange, reply);
}

void HttpCore::reply_problem(const Exchange& exchange, const Problem& problem,
                             std::span<const NameValue> fields) {
  flush(exchange.line, exchange.now);
  write_problem(exchange, problem, fields);
}

void HttpCore::write(const Recipient& to, const Reply& reply) {
  to.out->add(reply, {.date = date(to.now), .after = to.after, .send_body = to.send_body});
  counts_.add_one(http_requests(to.route, std::max(reply.status, 200)));  // 101 is a success
}

void HttpCore::write_problem(const Recipient& to, const Problem& problem,
                             std::span<const NameValue> fields) {
  write(to, {.status = problem.status,
             .content_type = kProblemContentType,
             .fields = fields,
             .body = to_json(problem)});
}

void HttpCore::queue(const Exchange& exchange, const Ask& ask) {
  if (!queue_.keeps_order(ask)) flush(exchange.line, exchange.now);
  queue_.add(ask, {.route = exchange.route, .after = exchange.after});
  if (queue_.is_full()) flush(exchange.line, exchange.now);
}

void HttpCore::flush(ReplyLine& line, Instant now) {
  queue_.flush(line, now,
               [this](ReplySink& out, Instant then, const Asks& asks, const Queue::Notes& notes) {
                 write_queued(out, then, asks, notes);
               });
}

void HttpCore::write_queued(ReplySink& out, Instant now, const Asks& asks,
                            const Queue::Notes& notes) {
  for (std::size_t i = 0; i < asks.size(); ++i) {
    Recipient to{.out = &out, .now = now, .route = notes[i].route, .after = notes[i].after};
    if (i + 1 == asks.size()) to = to.at(out, now);
    if (is_answered(asks, i)) {
      write_answer(to, asks, i);
    } else {
      write_problem(to, store_unavailable());
    }
  }
}

AsksPtr HttpCore::begin_asks(const Exchange& exchange, Operation operation) {
  flush(exchange.line, exchange.now);
  return asks_.take(operation);
}

void HttpCore::write_answer(const Recipient& to, const Asks& asks, std::size_t index) {
  const Ask& ask = asks.ask(index);
  const std::size_t room = kDecisionJsonMax + ask.echo.size();
  char* const body = scratch(room);
  TextWriter writer(body, room);
  write_decision_json(writer, ask.echo, asks.answer(index));
  const RateLimit limit = voice_.say_one(asks, index, to.now);
  write(to, {.limit = &limit, .body = {body, writer.end()}});
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
