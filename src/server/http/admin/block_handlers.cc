// The handler of /admin/blocks: who is blocked, blocking and letting go.

#include <string>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "proto/json_writer.h"
#include "server/http/admin/json_body.h"
#include "server/http/check/check_ask.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::size_t kBlocksShown = 100;  // unless the request says otherwise
constexpr std::size_t kBlocksShownMax = 10'000;
constexpr Duration kBlockMax = std::chrono::hours(24) * 366;

void write_block(JsonWriter& json, const Block& block, Instant now) {
  json.begin_object().key("rule").string(block.rule).key("key").string(as_utf8(block.key));
  json.key("reason").string(reason_name(block.reason));
  json.key("blocked_for_seconds").seconds(now - block.since);
  json.key("ends_in_seconds").seconds(block.until - now).end_object();
}

void list_blocks(HttpCore& core, const Exchange& exchange) {
  std::size_t limit = kBlocksShown;
  if (const auto text = query_value(exchange.query, "limit")) {
    limit = read_decimal<std::size_t>(*text).value_or(kBlocksShownMax + 1);
    if (limit > kBlocksShownMax) {
      return core.reply_problem(exchange, invalid_field("limit", "an integer from 0 to 10000"));
    }
  }
  const std::string rule = query_value(exchange.query, "rule").value_or("");
  JsonWriter json;
  json.begin_object().key("total").number(core.blocks().size()).key("blocks").begin_array();
  for (const Block& block : core.blocks().list(rule, limit, exchange.now)) {
    write_block(json, block, exchange.now);
  }
  json.end_array().end_object();
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

void add_block(HttpCore& core, const Exchange& exchange) {
  JsonBody body(exchange.body, {"rule", "key", "for"});
  Block block{.rule = std::string(body.text("rule")),
              .key = std::string(body.text("key")),
              .since = exchange.now,
              .reason = BlockReason::kManual};
  const auto length = parse_duration(body.text("for"));
  if (!length || *length <= Duration::zero() || *length > kBlockMax) {
    body.reject("for", "a duration of at most 366 days, such as \"5m\"");
  }
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  if (core.rules().find(block.rule) == nullptr) {
    return core.reply_problem(exchange, unknown_rule(block.rule, core.rules()));
  }
  block.until = exchange.now + *length;
  JsonWriter json;
  write_block(json, block, exchange.now);
  core.node().live().tell("block", block.rule,
                          "a key is blocked for " + std::string(body.text("for")));
  core.blocks().add(std::move(block), exchange.now);
  core.reply_json(exchange, json.text());
}

// The rule may be gone.
void lift_block(HttpCore& core, const Exchange& exchange) {
  JsonBody body(exchange.body, {"rule", "key"});
  const std::string_view rule = body.text("rule");
  const std::string_view key = body.text("key");
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  if (!core.blocks().lift(rule, key)) {
    return core.reply_problem(exchange, http_problem(404, "This key of this rule is not blocked."));
  }
  core.node().live().tell("block", std::string(rule), "a block is lifted");
  JsonWriter json;
  json.begin_object().key("lifted").boolean(true).end_object();
  core.reply_json(exchange, json.text());
}

}  // namespace

void handle_blocks(HttpCore& core, Exchange& exchange) {
  switch (exchange.head.method) {
    case http1::Method::kPost: return add_block(core, exchange);
    case http1::Method::kDelete: return lift_block(core, exchange);
    default: return list_blocks(core, exchange);
  }
}

}  // namespace weir
