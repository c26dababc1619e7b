// The handlers that show what the node remembers of its traffic. /admin/busiest: the keys of a rule
// that came most of late, or were denied most, on this node or on all. /admin/events: when unusual
// traffic began and ended.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "observe/keys/fleet_keys.h"
#include "proto/json_writer.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/shared_json.h"
#include "server/http/check/check_ask.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::size_t kKeysShown = 10;  // unless the request says otherwise
constexpr std::size_t kKeysShownMax = 100;

struct Wanted {
  const Rule* rule = nullptr;
  KeysBy by = KeysBy::kAsked;
  bool is_of_fleet = true;
  std::size_t limit = kKeysShown;
};

std::optional<Problem> read_wanted(const HttpCore& core, std::string_view query, Wanted& wanted) {
  const auto id = query_value(query, "rule");
  if (!id) return invalid_field("rule", "the id of a rule");
  wanted.rule = core.rules().find(*id);
  if (wanted.rule == nullptr) return unknown_rule(*id, core.rules());
  const std::string by = query_value(query, "by").value_or("asked");
  if (by != "asked" && by != "denied") return invalid_field("by", "asked or denied");
  wanted.by = by == "asked" ? KeysBy::kAsked : KeysBy::kDenied;
  const std::string scope = query_value(query, "scope").value_or("fleet");
  if (scope != "fleet" && scope != "node") return invalid_field("scope", "fleet or node");
  wanted.is_of_fleet = scope == "fleet";
  const auto limit = query_value(query, "limit");
  if (limit) wanted.limit = read_decimal<std::size_t>(*limit).value_or(0);
  if (wanted.limit == 0 || wanted.limit > kKeysShownMax) {
    return invalid_field("limit", "an integer from 1 to 100");
  }
  return std::nullopt;
}

// This node's report comes first.
std::vector<FleetKeys::Contribution> contributions(const NodeView& view, const FleetKeys* others,
                                                   const Wanted& wanted, Instant now) {
  std::vector<FleetKeys::Contribution> all;
  all.push_back({.node = view.info.node,
                 .report = view.traffic.rules().busiest_keys(wanted.rule->number, wanted.by, now)});
  if (!wanted.is_of_fleet || others == nullptr) return all;
  for (auto& other : others->of(wanted.rule->id, wanted.by, now)) all.push_back(std::move(other));
  return all;
}

void write_key(JsonWriter& json, const KeyEstimate& key, const KeyReport& sum,
               const std::vector<FleetKeys::Contribution>& all) {
  write_key_begin(json, key);
  json.field("at_least", least_of(key.low, sum.weight));
  json.field("at_most", most_of(key.high, sum.weight));
  json.field("share", static_cast<double>(key.low) /
                          static_cast<double>(std::max<std::uint64_t>(sum.total, 1)));
  json.key("nodes").begin_array();
  for (const FleetKeys::Contribution& one : all) {
    const auto found = std::ranges::lower_bound(one.report.keys, key.hash, {}, &KeyEstimate::hash);
    if (found == one.report.keys.end() || found->hash != key.hash) continue;
    json.begin_object().field("node", one.node).field("count", found->low).end_object();
  }
  json.end_array().end_object();
}

void show_busiest(HttpCore& core, const NodeView& view, const FleetKeys* others,
                  const Exchange& exchange) {
  Wanted wanted;
  if (const auto problem = read_wanted(core, exchange.query, wanted)) {
    return core.reply_problem(exchange, *problem);
  }
  const auto all = contributions(view, others, wanted, exchange.now);
  KeyReport sum;
  for (const FleetKeys::Contribution& one : all) sum.add(one.report);

  JsonWriter json;
  json.begin_object().field("rule", wanted.rule->id);
  json.field("by", wanted.by == KeysBy::kAsked ? "asked" : "denied");
  json.field("scope", wanted.is_of_fleet ? "fleet" : "node");
  json.field("total", sum.total).field("sampled_one_of", sum.weight).key("nodes").begin_array();
  for (const FleetKeys::Contribution& one : all) {
    json.begin_object().field("node", one.node).field("total", one.report.total).end_object();
  }
  json.end_array().key("keys").begin_array();
  for (const KeyEstimate& key : sum.ranked(wanted.limit)) write_key(json, key, sum, all);
  json.end_array();
  if (wanted.is_of_fleet && others != nullptr) {
    json.field("nodes_heard", 1 + others->nodes(exchange.now));
  }
  if (const auto trouble = others == nullptr ? std::string() : others->trouble();
      !trouble.empty()) {
    json.field("trouble", trouble);
  }
  json.end_object();
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
  json.begin_object().field("last", reply.last).key("events").begin_array();
  for (const auto& event : reply.events) {
    json.begin_object();
    write_event(json, *event);
    json.end_object();
  }
  json.end_array().end_object();
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

}  // namespace

void add_busiest_page(HttpCore& core, const NodeView& view, const FleetKeys* others) {
  core.routes().add({{http1::Method::kGet},
                     "/admin/busiest",
                     RouteAccess::kAdmin,
                     [&core, &view, others](const Exchange& exchange) {
                       show_busiest(core, view, others, exchange);
                     },
                     {.of_get = "rule by scope limit"}});
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
