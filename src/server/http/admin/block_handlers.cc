// The handler of /admin/blocks: lists, makes and lifts blocks of one rule or of all.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "engine/asks/settle.h"
#include "engine/blocked_networks.h"
#include "proto/json_writer.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/shared_json.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/json_body.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::size_t kBlocksShown = 100;  // unless the request says otherwise
constexpr std::size_t kBlocksShownMax = 10'000;
constexpr Duration kBlockMax = std::chrono::hours(24) * 366;

// Does not write the brace at the end.
void write_block(JsonWriter& json, const Engine& engine, const Block& block, Instant now) {
  json.begin_object().field("rule", or_null(block.rule)).field("key", block.key);
  json.field("reason", reason_name(block.reason));
  if (!block.by.empty()) json.field("by", block.by);
  if (!block.why.empty()) json.field("why", block.why);
  json.field("blocked_at", CoreDenials::second_of(engine.wall_time(block.began)));
  json.field("blocked_for_seconds", now - block.began);
  json.field("ends_in_seconds", block.until - now);
}

// Without a rule, the request means all rules.
bool is_unknown(const HttpCore& core, const std::string& rule) {
  return !rule.empty() && core.rules().find(rule) == nullptr;
}

// Shows blocks of removed rules, too.
void list_blocks(HttpCore& core, const Exchange& exchange) {
  std::size_t limit = kBlocksShown;
  if (const auto text = query_value(exchange.query, "limit")) {
    limit = read_decimal<std::size_t>(*text).value_or(kBlocksShownMax + 1);
    if (limit > kBlocksShownMax) {
      return core.reply_problem(exchange, invalid_field("limit", "an integer from 0 to 10000"));
    }
  }
  const std::string rule = query_value(exchange.query, "rule").value_or("");
  if (is_unknown(core, rule) && core.blocks().list(rule, 1, exchange.now).empty()) {
    return core.reply_problem(exchange, unknown_rule(rule, core.rules()));
  }
  const auto blocks = core.blocks().list(rule, limit, exchange.now);  // forgets ended blocks
  JsonWriter json;
  json.begin_object().field("total", core.blocks().size()).key("blocks").begin_array();
  for (const Block& block : blocks) {
    write_block(json, core.engine(), block, exchange.now);
    json.end_object();
  }
  json.end_array();
  if (const auto told = core.blocks().has_told_fleet()) json.field("told", *told);
  json.end_object();
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

// "300.1.1.0/24", "203.0.113/24": looks like a network, unlike a key such as "/login".
bool looks_like_network(std::string_view key) {
  const std::string_view address = key.substr(0, key.find('/'));
  const std::string_view bits = key.substr(address.size() + 1);
  return address.find_first_of(".:") != address.npos && !bits.empty() &&
         address.find_first_not_of("0123456789abcdefABCDEF.:") == address.npos &&
         bits.find_first_not_of("0123456789") == bits.npos;
}

// "203.0.113.7/24" is a slip: nobody knows whether the address or the network was meant.
std::optional<std::string> network_meant(std::string_view key) {
  if (key.find('/') == key.npos || network_to_block(key)) return std::nullopt;
  const auto network = IpPrefix::parse(key, IpPrefix::Slips::kFixed);
  if (!network && !looks_like_network(key)) return std::nullopt;
  if (!network) return "an address or a network such as 203.0.113.0/24 or 2001:db8::/32";
  if (network->bits() == 0) return "a network of one bit at least; /0 is everybody";
  return "the network " + network->short_text() + ", or the address without its length";
}

// As in the list. Addresses and networks stay texts, as they block clients: no digest names those.
std::string listed_key(const HttpCore& core, const Block& block) {
  if (const auto network = network_to_block(block.key)) return network->short_text();
  const Rule* const rule = core.rules().find(block.rule);
  if (rule == nullptr || StoredKey::is_digest(block.key)) return block.key;
  return std::string(stored_key(*rule, block.key));
}

// The key of the lifted block, if there was one. Without a rule: of any. A key that looks like an
// address may be listed as a key or as an address: this lifts both.
std::optional<std::string> lift(HttpCore& core, const Block& block, Instant now) {
  const std::string listed = listed_key(core, block);
  const StoredKey digest(block.key, StoredKey::Kind::kSecret);
  std::optional<std::string> lifted;
  for (const std::string_view key :
       {std::string_view(listed), std::string_view(block.key), std::string_view(digest)}) {
    const bool is_lifted = block.rule.empty() ? core.blocks().lift_all(key, now) > 0
                                              : core.blocks().lift(block.rule, key, now);
    if (is_lifted) lifted = key;
  }
  return lifted;
}

// The block that the request makes or lifts. Without a rule, it is for all rules.
std::optional<Problem> read_whom(JsonBody& body, const HttpCore& core, Block& block) {
  if (body.has("rule")) block.rule = body.text("rule");
  block.key = body.text("key");
  if (const auto meant = network_meant(block.key)) body.reject("key", *meant);
  if (body.problem()) return body.problem();
  if (!is_unknown(core, block.rule)) return std::nullopt;
  return unknown_rule(block.rule, core.rules());
}

// for rule "login", by "alice" at 192.0.2.1, because "scraping": for the log.
std::string circumstances(const Exchange& exchange, const Block& block) {
  std::string text = block.rule.empty() ? "for all rules" : "for rule " + json_string(block.rule);
  text += ", by " + (block.by.empty() ? "somebody" : json_string(block.by));
  text += exchange.peer ? " at " + exchange.peer->to_string() : " at a Unix socket";
  if (!block.why.empty()) text += ", because " + json_string(block.why);
  return text;
}

// Why the key passes all the same; empty: no known reason.
std::string_view why_it_passes(const HttpCore& core, const Block& block, Instant now) {
  const Rule* const rule = core.rules().find(block.rule);
  if (rule == nullptr) return {};
  const Ask ask{.rule = rule, .key = block.key};
  if (!rule->in_force(core.engine().wall_time(now))) return "the rule is not in force";
  if (rule->shadow) return "the rule is in shadow";
  if (blocked_network(block)) return {};
  if (ask.is_on_allow_list()) return "the key is on the rule's allow list";
  return ask.is_shadow() ? "the rule spares this key" : std::string_view();
}

using Log = std::function<void(const std::string& line)>;

void announce(const Log& log, const Exchange& exchange, const Block& block,
              const std::string& done) {
  if (!log) return;
  const bool is_plain = network_to_block(block.key).has_value();
  const std::string whom = is_plain ? block.key : json_string(block.key);
  log("blocks: " + whom + " is " + done + " " + circumstances(exchange, block));
}

std::string short_text(JsonBody& body, std::string_view field, std::size_t bytes_max) {
  const std::string_view text = body.text_or(field, "");
  if (text.size() > bytes_max) {
    body.reject(field, "a text of at most " + std::to_string(bytes_max) + " bytes");
  }
  return std::string(text);
}

void add_block(HttpCore& core, const Log& log, const Exchange& exchange) {
  JsonBody body(exchange.body.view(), {"rule", "key", "for", "by", "why"});
  Block block{.rule = {},
              .key = {},
              .since = exchange.now,
              .reason = BlockReason::kManual,
              .began = exchange.now};
  block.by = short_text(body, "by", Block::kByMax);
  block.why = short_text(body, "why", Block::kWhyMax);
  const auto length = parse_duration(body.text("for"));
  if (!length || *length <= Duration::zero() || *length > kBlockMax) {
    body.reject("for", "a duration of at most 366 days, such as \"5m\"");
  }
  if (const auto problem = read_whom(body, core, block)) {
    return core.reply_problem(exchange, *problem);
  }
  block.until = exchange.now + *length;
  const auto why = why_it_passes(core, block, exchange.now);
  block.key = listed_key(core, block);
  if (!core.blocks().add(block, exchange.now)) {
    return core.reply_problem(
        exchange,
        http_problem(
            409,
            "Nobody was blocked: the list of blocks is full, or networks of 16 different "
            "lengths are blocked already. Lift some, or block a network of such a length."));
  }
  announce(log, exchange, block, "blocked for " + std::string(body.text("for")));
  JsonWriter json;
  write_block(json, core.engine(), block, exchange.now);
  if (!why.empty()) json.field("passes_because", why);
  json.end_object();
  core.reply(exchange, {.body = json.text()});
}

// The rule may be gone. Without a rule, this lifts blocks of all rules.
void lift_block(HttpCore& core, const Log& log, const Exchange& exchange) {
  JsonBody body(exchange.body.view(), {"rule", "key", "by"});
  Block block{.rule = body.has("rule") ? std::string(body.text("rule")) : std::string(),
              .key = std::string(body.text("key"))};
  block.by = short_text(body, "by", Block::kByMax);
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  const auto lifted = lift(core, block, exchange.now);
  if (!lifted) {
    return core.reply_problem(
        exchange, http_problem(404, block.rule.empty() ? "This key is not blocked."
                                                       : "This key of this rule is not blocked."));
  }
  block.key = *lifted;
  announce(log, exchange, block, "blocked no more");
  JsonWriter json;
  json.begin_object().field("lifted", true).end_object();
  core.reply(exchange, {.body = json.text()});
}

}  // namespace

void add_block_page(HttpCore& core, Log log) {
  using enum http1::Method;
  core.routes().add({{kGet, kPost, kDelete},
                     "/admin/blocks",
                     RouteAccess::kAdmin,
                     [&core, log = std::move(log)](const Exchange& exchange) {
                       if (exchange.only_reads()) return list_blocks(core, exchange);
                       if (exchange.head.method == kPost) return add_block(core, log, exchange);
                       lift_block(core, log, exchange);
                     },
                     {.of_get = "rule limit"}});
}

}  // namespace weir
