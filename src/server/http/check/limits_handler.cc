// The handler of /v1/limits: what each limit that counts the caller has left.

#include <algorithm>
#include <memory>
#include <utility>

#include "base/pool.h"
#include "engine/asks/asks.h"
#include "gate/described_request.h"
#include "proto/json_writer.h"
#include "rules/time/calendar.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

// Whether the caller shows that the rule's keys count it, whatever it asks for. A counter that all
// callers share is no caller's own.
bool is_of_caller(const Rule& rule, const Request& request) {
  using enum KeyPart::Property;
  const auto is_shown = [](const KeyPart& part) {
    return part.property == kClient || part.property == kHeader || part.property == kCookie ||
           part.property == kClaim;
  };
  if (!rule.match || rule.key_parts.empty() || rule.effect != Rule::Effect::kLimit) return false;
  if (!std::ranges::all_of(rule.key_parts, is_shown) || !request.client) return false;
  bool is_whole = true;
  for_each_missing(rule, request, [&](const KeyPart&, PartState) { is_whole = false; });
  return is_whole || rule.key_form == Rule::KeyForm::kFirst;
}

void write_limit(JsonWriter& json, const Rule& rule, const Answer& answer, const Quota& quota,
                 const Decision& decision) {
  json.begin_object().field("rule", rule.id);
  if (!rule.name.empty()) json.field("name", rule.name);
  json.field("limit", quota.capacity()).field("window_seconds", quota.window());
  if (quota.is_by_calendar()) json.field("calendar", window_text(quota));
  if (answer.cause == Answer::Cause::kCounted) {
    json.field("used", decision.limit - decision.remaining).field("remaining", decision.remaining);
    json.field("reset_after", decision.reset_after);
  } else if (answer.cause == Answer::Cause::kBlocked) {
    json.field("blocked_for", decision.retry_after);
  } else {
    json.field("denied", !answer.allowed());  // by name, or because Redis is away
  }
  json.end_object();
}

void write_limits(HttpCore& core, const Recipient& to, const Asks& asks) {
  JsonWriter json;
  json.begin_object().key("limits").begin_array();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const Answer& answer = asks.answer(i);
    if (asks.ask(i).is_shadow() || answer.cause == Answer::Cause::kNotCounted) continue;
    const Rule& rule = *asks.ask(i).rule;
    const Asks::Limits limits = asks.limits(i);
    if (limits.quotas.empty()) write_limit(json, rule, answer, answer.quota, answer.decision);
    for (std::size_t at = 0; at < limits.quotas.size(); ++at) {
      write_limit(json, rule, answer, limits.quotas[at], limits.decisions[at]);
    }
  }
  json.end_array().end_object();
  core.write(to, {.fields = kNoStore, .body = json.text()});
}

void answer(HttpCore& core, DescribedRequest& described, const Exchange& exchange) {
  if (const auto problem = parameter_mistake(exchange.query, "")) {
    return core.reply_problem(exchange, *problem);
  }
  described.headers.assign(exchange.headers.begin(), exchange.headers.end());
  Request& request = described.request;
  request = {
      .headers = described.headers,
      .client = client_address(exchange.peer, described.headers, ClientHeader::kXForwardedFor,
                               core.node().options().trusted_proxies)};
  set_target("/", "", described);
  const Instant wall_time = core.engine().wall_time(exchange.now);
  core.rules().match(request, described.match, wall_time);  // finds out whose token it is
  AsksPtr asks = core.begin_asks(exchange, Operation::kLook);
  for (const Rule& rule : core.rules().rules()) {
    if (!is_of_caller(rule, request) || !rule.in_force(wall_time)) continue;
    PartScratch tier;
    Ask& ask = asks->next_ask();
    ask_about(rule, request, asks->next_key(), tier, ask);
    ask.cost = 0;
    if (!asks->add(ask) || asks->size() == Asks::kAsksMax) break;
  }
  core.decide(std::move(asks), exchange, [&core](const Recipient& to, const Asks& decided) {
    write_limits(core, to, decided);
  });
}

}  // namespace

void add_limits_route(HttpCore& core) {
  core.routes().add({{http1::Method::kGet},
                     "/v1/limits",
                     RouteAccess::kAnybody,
                     [&core, described = std::make_shared<DescribedRequest>()](
                         const Exchange& exchange) { answer(core, *described, exchange); }});
}

}  // namespace weir
