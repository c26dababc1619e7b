// /json: Envoy's rate limit service for those who have no gRPC.

#include <utility>

#include "rls/json_text.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

void write_answer(HttpCore& core, const Recipient& to, const rls::JsonAnswer& answer) {
  core.write(to,
             {.status = answer.status, .content_type = answer.content_type, .body = answer.body});
}

void ask(HttpCore& core, rls::RateLimitService& service, const Exchange& exchange) {
  core.flush(exchange.line, exchange.now);
  rls::RateLimitService::CallPtr call = service.new_call();
  const std::string_view question = exchange.body.view();
  call->expect(question.size());
  if (const auto refusal = rls::read_json(question, call->request)) {
    return write_answer(core, exchange, *refusal);
  }
  core.decide_any(std::move(call), exchange,
                  [&core](const Recipient& to, const rls::RateLimitCall& decided) {
                    write_answer(core, to, rls::to_json(decided));
                  });
}

}  // namespace

void add_json_route(HttpCore& core, rls::RateLimitService& service) {
  core.routes().add({kAnyMethod, "/json", RouteAccess::kAnybody,
                     [&](Exchange& exchange) { ask(core, service, exchange); }});
}

}  // namespace weir
