#include "server/http/http_core.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/nearest_name.h"
#include "server/http/access.h"
#include "server/http/query.h"

namespace weir {
namespace {

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

void refuse_path(HttpCore& core, const Exchange& exchange) {
  std::vector<std::string_view> paths;
  for (const Route& route : core.routes().all()) paths.push_back(route.path);
  core.reply_problem(
      exchange, http_problem(404, "There is nothing here; " + name_hint(exchange.path, paths)));
}

void refuse_method(HttpCore& core, const Exchange& exchange, const Route& route) {
  std::string methods;
  for (const Route& each : core.routes().all()) {
    if (each.path == route.path)
      methods.append(methods.empty() ? "" : ", ") += each.methods.names();
  }
  const NameValue allow{"Allow", methods};
  core.reply_problem(exchange, http_problem(405, "Methods here: " + methods + "."), {&allow, 1});
}

// Whether the request is refused for its route's access or form. If so, this has replied.
bool is_refused(HttpCore& core, Exchange& exchange, const Route& route) {
  if (route.access == RouteAccess::kAnybody) return false;
  if (route.access == RouteAccess::kConsole) return refuse_host(core, exchange);
  if (refuse_access(core, exchange)) return true;
  const RouteParameters& known = route.parameters;
  const auto refusal =
      parameter_mistake(exchange.query, exchange.only_reads() ? known.of_get : known.of_others);
  if (refusal) core.reply_problem(exchange, *refusal);
  return refusal.has_value();
}

}  // namespace

HttpCore::HttpCore(HttpNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
    : node_(node),
      engine_(engine),
      counts_(node.counts().add_core()),
      blocks_(blocks),
      asks_(engine, blocks, std::move(rules), DenialDoor::kHttp),
      voice_(engine, node.options().headers) {}

void HttpCore::use_rules(RuleSetPtr rules) {
  WEIR_ASSERT(queue_.empty() && rules != nullptr);
  asks_.use_rules(std::move(rules));
}

bool HttpCore::may_overtake(const http1::RequestHead& head) const {
  const std::string_view target = without_authority(head.target);
  const Route* const found = routes_.find(target.substr(0, target.find('?')), head.method);
  return found == nullptr || found->is_check(head.method);
}

bool HttpCore::answer(Exchange& exchange) {
  split_target(exchange);
  const http1::Method method = exchange.head.method;
  if (method == http1::Method::kHead) exchange.send_body = SendBody::kNo;
  if (exchange.head.repeats_authorization) {
    reply_problem(exchange, repeated_field("Authorization"));
    return true;
  }
  const Route* const found = routes_.find(exchange.path, method);
  if (found == nullptr) {
    refuse_path(*this, exchange);
    return true;
  }
  exchange.route = routes_.id_of(*found);
  if (!found->methods.holds(method)) {
    refuse_method(*this, exchange, *found);
    return true;
  }
  if (!found->is_check(method)) {
    flush(exchange.line, exchange.now);
    if (exchange.line.waits()) return false;
    exchange.id = routes_.rest_of(exchange.route, exchange.path);
  }
  if (!is_refused(*this, exchange, *found)) found->handle(exchange);
  return true;
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

// A second, as in a denial by a failed store.
void HttpCore::write_unavailable(const Recipient& to) {
  constexpr std::array<NameValue, 1> kSoon = {{{"Retry-After", "1"}}};
  write_problem(to, store_unavailable(), kSoon);
}

void HttpCore::queue(const Exchange& exchange, const Ask& ask, AnswerWriter& writer) {
  if (!queue_.keeps_order(ask)) flush(exchange.line, exchange.now);
  queue_.add(ask, {.writer = &writer, .route = exchange.route, .after = exchange.after});
  if (queue_.is_full()) flush(exchange.line, exchange.now);
}

void HttpCore::flush(ReplyLine& line, Instant now) {
  const auto write_all = [this](ReplySink& out, Instant then, const Asks& asks,
                                const Queue::Notes& notes) {
    for (std::size_t i = 0; i < asks.size(); ++i) {
      Recipient to{.out = &out, .now = then, .route = notes[i].route, .after = notes[i].after};
      if (i + 1 == asks.size()) to = to.at(out, then);
      if (is_answered(asks, i)) {
        notes[i].writer->write_answer(to, asks, i);
      } else {
        write_unavailable(to);
      }
    }
  };
  queue_.flush(line, now, write_all);
}

AsksPtr HttpCore::begin_asks(const Exchange& exchange, Operation operation) {
  flush(exchange.line, exchange.now);
  return asks_.take(operation);
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

}  // namespace weir
