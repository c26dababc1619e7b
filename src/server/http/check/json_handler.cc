// /json: Envoy's rate limit service for those who have no gRPC.

#include <utility>

#include "rls/json_text.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

void write_answer(HttpCore& core, const Recipient& to, const rls::JsonAnswer& answer) {
  core.write(to,
             {.status = answer.status, .content_type = answer.content_type, .body = answer.body});
}

}  // namespace

void handle_json(HttpCore& core, Exchange& exchange) {
  core.flush(exchange.line, exchange.now);
  rls::RateLimitService::CallPtr call = core.rls().new_call();
  const std::string_view question(exchange.body.text, exchange.body.size);
  call->expect(question.size());
  if (const auto refusal = rls::read_json(question, call->request)) {
    return write_answer(core, exchange, *refusal);
  }
  core.decide(std::move(call), exchange,
              [&core](const Recipient& to, const rls::RateLimitCall& decided) {
                write_answer(core, to, rls::to_json(decided));
              });
}

}  // namespace weir
