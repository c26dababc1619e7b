// The handler of /admin/events: unusual traffic, as it began and ended.

#include "base/decimal.h"
#include "proto/json_writer.h"
#include "server/http/admin/event_json.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {

void handle_events(HttpCore& core, Exchange& exchange) {
  const auto since =
      read_decimal<std::uint64_t>(query_value(exchange.query, "since").value_or("0"));
  if (!since) {
    return core.reply_problem(exchange, invalid_field("since", "the number of an event, or 0"));
  }
  const TrafficEvents* const events = core.node().options().events;
  const auto reply = events == nullptr ? TrafficEvents::Reply{} : events->since(*since);
  JsonWriter json;
  json.begin_object().key("last").number(reply.last).key("events").begin_array();
  for (const auto& event : reply.events) {
    json.begin_object();
    write_event(json, *event);
    json.end_object();
  }
  json.end_array().end_object();
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

}  // namespace weir
