// The handlers of what the node remembers: /admin/events, unusual traffic as it began and ended;
// /admin/denials, what was denied lately.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "proto/json_writer.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/event_json.h"
#include "server/http/admin/key_json.h"
#include "server/http/check/check_ask.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::size_t kDenialsShown = 100;  // unless the request says otherwise
constexpr std::size_t kDenialsShownMax = 10'000;

struct WantedDenials {
  std::optional<RuleNumber> rule{};
  std::vector<std::uint64_t> hashes{};  // of the key; empty: any
  std::int64_t first = 0;               // seconds of 1970
  std::int64_t last = 0;
  std::size_t limit = kDenialsShown;

  bool wants(const DenialRecord& denial) const {
    if (rule && denial.rule != *rule) return false;
    return hashes.empty() || std::ranges::find(hashes, denial.key_hash) != hashes.end();
  }
};

// A key has one name for each limit that it may have: its own, or that of a tier.
std::vector<std::uint64_t> hashes_of(const HttpCore& core, const Rule& rule, std::string_view key) {
  const KeyName name{.rule = rule.id, .bucket = {}, .key = key};
  auto hashes = std::vector{core.engine().hash(name, rule.limits_for(key, {}).front()).low};
  for (const auto& [tier, limits] : rule.tiers) {
    hashes.push_back(core.engine().hash(name, limits.front()).low);
  }
  return hashes;
}

std::optional<Problem> read_whose(const HttpCore& core, std::string_view query,
                                  WantedDenials& wanted) {
  const auto id = query_value(query, "rule");
  const Rule* const rule = id ? core.rules().find(*id) : nullptr;
  if (id && rule == nullptr) return unknown_rule(*id, core.rules());
  if (rule != nullptr) wanted.rule = rule->number;
  const auto key = query_value(query, "key");
  if (!key) return std::nullopt;
  if (rule == nullptr) return invalid_field("rule", "the id of the rule that the key is of");
  wanted.hashes = hashes_of(core, *rule, *key);
  return std::nullopt;
}

std::optional<Problem> read_when(std::string_view query, Instant now, WantedDenials& wanted) {
  wanted.last = CoreDenials::second_of(now);
  if (const auto text = query_value(query, "since")) {
    const auto since = parse_duration(*text);
    if (!since) return invalid_field("since", "a duration that ends now, such as 10m");
    wanted.first = CoreDenials::second_of(std::max(now - *since, Instant{}));
  }
  if (const auto text = query_value(query, "after")) {
    const auto after = read_decimal<std::int64_t>(*text);
    if (!after || *after < 0) return invalid_field("after", "what `next` was, or 0");
    wanted.first = std::max(wanted.first, *after + 1);
    wanted.last -= 2;  // of the last seconds some are still to come
  }
  if (const auto text = query_value(query, "limit")) {
    wanted.limit = read_decimal<std::size_t>(*text).value_or(0);
  }
  if (wanted.limit == 0 || wanted.limit > kDenialsShownMax) {
    return invalid_field("limit", "an integer from 1 to 10000");
  }
  return std::nullopt;
}

void write_denial(JsonWriter& json, const Engine& engine, const std::string& id,
                  const DenialRecord& denial, Instant now) {
  const auto wall_second = CoreDenials::second_of(engine.wall_time(denial.at));
  json.begin_object().key("at").string(utc_text(wall_second));
  json.key("seconds_ago").seconds(now - denial.at).key("rule");
  if (id.empty()) {
    json.null();
  } else {
    json.string(as_utf8(id));
  }
  json.key("hash").string(hash_text(denial.key_hash));
  if (!denial.key.empty()) json.key("key").string(as_utf8(denial.key));
  json.key("cause").string(cause_name(denial.cause)).key("shadow").boolean(denial.is_shadow);
  json.key("times").number(denial.times).key("cost").number(denial.cost);
  json.key("limit").number(denial.limit).key("remaining").number(denial.remaining);
  json.key("retry_after");
  if (denial.retry_after > Duration::zero()) {
    json.seconds(denial.retry_after);
  } else {
    json.null();
  }
  json.key("status");
  if (denial.status > 0) {
    json.number(denial.status);
  } else {
    json.null();
  }
  json.end_object();
}

// The latest first.
void show_denials(HttpCore& core, const Traffic& traffic, const Exchange& exchange) {
  WantedDenials wanted;
  auto problem = read_whose(core, exchange.query, wanted);
  if (!problem) problem = read_when(exchange.query, exchange.now, wanted);
  if (problem) return core.reply_problem(exchange, *problem);
  std::vector<DenialRecord> found;
  std::uint64_t forgotten = 0;
  traffic.each_denial(wanted.first, wanted.last, [&](const DenialRecord& denial) {
    forgotten += denial.forgotten;
    if (wanted.wants(denial)) found.push_back(denial);
  });
  found = added_up(std::move(found));
  JsonWriter json;
  json.begin_object().key("next").number(std::max<std::int64_t>(wanted.last, 0));
  json.key("total").number(found.size()).key("forgotten").number(forgotten);
  json.key("denials").begin_array();
  for (std::size_t i = 0; i < std::min(found.size(), wanted.limit); ++i) {
    const DenialRecord& denial = found[found.size() - 1 - i];
    write_denial(json, core.engine(), traffic.rules().id_of(denial.rule), denial, exchange.now);
  }
  json.end_array().end_object();
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

void show_events(HttpCore& core, const TrafficEvents& events, const Exchange& exchange) {
  const auto since =
      read_decimal<std::uint64_t>(query_value(exchange.query, "since").value_or("0"));
  if (!since) {
    return core.reply_problem(exchange, invalid_field("since", "the number of an event, or 0"));
  }
  const auto reply = events.since(*since);
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

}  // namespace

void add_denial_page(HttpCore& core, const Traffic& traffic) {
  core.routes().add(
      {{http1::Method::kGet},
       "/admin/denials",
       RouteAccess::kAdmin,
       [&core, &traffic](const Exchange& exchange) { show_denials(core, traffic, exchange); },
       {.of_get = "rule key since after limit"}});
}

void add_event_page(HttpCore& core, const TrafficEvents& events) {
  core.routes().add(
      {{http1::Method::kGet},
       "/admin/events",
       RouteAccess::kAdmin,
       [&core, &events](const Exchange& exchange) { show_events(core, events, exchange); },
       {.of_get = "since"}});
}

}  // namespace weir
