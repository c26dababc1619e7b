// The handlers that describe this node: health, index.

#include "proto/json_writer.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr std::string_view kNoStore = "Cache-Control: no-store\r\n";

double seconds_since(Instant start, Instant now) {
  return std::chrono::duration<double>(now - start).count();
}

}  // namespace

void handle_health(HttpCore& core, Exchange& exchange) {
  const ServerInfo& info = core.node().info();
  const bool draining = core.node().draining();
  JsonWriter json;
  json.begin_object().key("status").string(draining ? "draining" : "ok");
  json.key("redis").string("disabled");
  json.key("version").string(info.version);
  json.key("uptime_seconds").number(seconds_since(info.started, exchange.now)).end_object();
  core.reply(exchange, {.status = draining ? 503 : 200, .fields = kNoStore}, json.text());
}

void handle_index(HttpCore& core, Exchange& exchange) {
  core.reply_json(exchange, R"({"service":"weir","openapi":"/openapi.json","health":"/health"})");
}

}  // namespace weir
// In the table, and still to be written.
namespace weir {
namespace {
void answer_later(HttpCore& core, Exchange& exchange) {
  core.reply_problem(exchange, http_problem(501, "Not here yet."));
}
}  // namespace
void handle_check_v1(HttpCore& core, Exchange& exchange) { answer_later(core, exchange); }
void handle_look(HttpCore& core, Exchange& exchange) { answer_later(core, exchange); }
void handle_reset(HttpCore& core, Exchange& exchange) { answer_later(core, exchange); }
void handle_metrics(HttpCore& core, Exchange& exchange) { answer_later(core, exchange); }
void handle_admin_stats(HttpCore& core, Exchange& exchange) { answer_later(core, exchange); }
void handle_openapi(HttpCore& core, Exchange& exchange) { answer_later(core, exchange); }
}  // namespace weir
