// /json: Envoy's rate limit service for those who have no gRPC.

#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {

void handle_json(HttpCore& core, Exchange& exchange) {
  core.flush(exchange.out, exchange.now);  // what came before is decided before
  const std::string_view question(exchange.body.text, exchange.body.size);
  const rls::JsonAnswer answer = core.rls().answer(question, exchange.now);
  core.reply(exchange, {.status = answer.status, .content_type = answer.content_type}, answer.body);
}

}  // namespace weir
