// The handlers that describe this node: health, metrics, statistics, its routes.

#include <algorithm>
#include <array>
#include <string>

#include "observe/recent_traffic.h"
#include "proto/json_writer.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/media_range.h"
#include "server/http/admin/metrics.h"
#include "server/http/admin/shared_json.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

// openapi.json in this folder; openapi_test.cc holds it against the code.
constexpr std::string_view kDocument =
#include "server/http/admin/openapi_json.inc"
    ;

// A scraper says that it prefers text; a browser or curl takes any type.
bool wants_prometheus(const Exchange& exchange) {
  if (exchange.query == "format=prometheus") return true;
  if (exchange.query == "format=json") return false;
  const std::string_view accept = exchange.head.accept;
  const int text = std::max(quality_of(accept, "text/plain"),
                            quality_of(accept, "application/openmetrics-text"));
  return text > quality_of(accept, "application/json");
}

void write_totals(JsonWriter& json, const Figures& figures) {
  const TrafficSummary& traffic = figures.traffic;
  json.key("totals").begin_object();
  json.field("requests", traffic.total_allowed() + traffic.total_denied());
  json.field("allowed", traffic.total_allowed()).field("denied", traffic.total_denied());
  write_section(json, "totals", figures);
  json.end_object();
}

void write_latency(JsonWriter& json, const LatencyFigures& latency) {
  json.key("latency").begin_object().field("timed", latency.total());
  json.field("p50_seconds", latency.quantile(0.5));
  json.field("p99_seconds", latency.quantile(0.99)).end_object();
}

void write_counter(JsonWriter& json, const Rule& rule, const Figures& shown) {
  json.field("algorithm", algorithm_name(rule.quota.algorithm()));
  if (may_switch(rule)) {
    write_following(json.key("following"), shown.view.switches, rule.id, shown.now);
  }
  write_window(json.field("limit", rule.quota.limit()), rule.quota);
  if (rule.quota.is_never_over()) json.field("bound", "never_over");
  if (rule.quota.algorithm() == Algorithm::kTokenBucket) {
    json.field("burst", rule.quota.capacity());
  }
}

void write_rules(JsonWriter& json, const RuleSet& rules, const Figures& shown) {
  const RuleCounts& counts = shown.view.traffic.rules();
  json.key("rules").begin_array();
  for (const Rule& rule : rules.rules()) {
    json.begin_object().field("id", rule.id);
    if (!rule.name.empty()) json.field("name", rule.name);
    if (rule.effect == Rule::Effect::kConcurrency) {
      json.field("of", "concurrency").field("limit", rule.quota.limit());
    } else {
      write_counter(json, rule, shown);
    }
    write_over_now(json, over_now_of(*shown.engine, rule, shown.now));
    json.field("enabled", rule.enabled);
    const RuleFigures figures = counts.figures(rule.number);
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      json.field(kRuleOutcomeNames[i], figures[i]);
    }
    json.field("keys", counts.keys(rule.number, shown.now));
    write_latency(json, counts.latency(rule.number));
    json.end_object();
  }
  json.end_array();
}

// A node that has lost its Redis still decides, so load balancers may still send requests here.
void write_redis_health(JsonWriter& json, const std::optional<SharedStoreFigures>& shared,
                        Instant now) {
  if (!shared) {
    json.field("redis", "disabled");
    return;
  }
  json.field("redis", shared->is_healthy ? "connected" : "disconnected");
  json.field("state", shared->reason.empty() ? "healthy" : "degraded");
  if (!shared->reason.empty()) json.field("reason", shared->reason);
  json.field("since_seconds", now - shared->since).field("nodes", shared->live_nodes);
}

void write_world_health(JsonWriter& json, const std::optional<SharedStoreFigures>& world,
                        Instant now) {
  if (!world) return;
  json.key("world").begin_object();
  write_redis_health(json, world, now);
  json.end_object();
}

void write_shared_store(JsonWriter& json, const Figures& figures) {
  if (!figures.node.shared) return;
  json.key("shared_store").begin_object();
  write_redis_health(json, figures.node.shared, figures.now);
  json.field("mode", figures.node.shared->mode);
  if (const auto& rules = figures.node.shared->rules) {
    write_hold(json.key("rules"), *rules);
    json.field("rules_heard_seconds_ago", figures.now - rules->heard);
  }
  write_section(json, "shared_store", figures);
  json.end_object();
}

void write_node(JsonWriter& json, HttpCore& core, const Figures& figures) {
  const ServerInfo& info = figures.view.info;
  json.field("version", info.version).field("uptime_seconds", figures.now - info.started);
  json.field("threads", info.threads).field("draining", core.node().draining());

  json.key("config").begin_object().field("last_reload_successful", figures.reload.succeeded);
  json.field("in_force_for_seconds", figures.now - figures.reload.last_success).end_object();

  json.key("store").begin_object().field("max_keys", info.max_keys);
  write_section(json, "store", figures);
  json.end_object();
}

void write_rates(JsonWriter& json, const TrafficRates& rates) {
  json.field("req_per_sec", rates.requests_per_second).field("burst_ratio", rates.burst_ratio);
  json.field("deny_rate", rates.denied_share);
}

// The algorithm of the last switch. If there was none, the one that has decided most.
Algorithm active_algorithm(const RuleSwitches* switches, const TrafficTotals& totals) {
  const auto last = switches == nullptr ? std::nullopt : switches->latest();
  return last ? last->active.algorithm : totals.most_used();
}

void write_traffic(JsonWriter& json, const TrafficRates& rates, const TrafficTotals& totals,
                   const RuleSwitches* switches) {
  write_rates(json, rates);
  json.field("active_algorithm", algorithm_name(active_algorithm(switches, totals)));
  json.field("total_requests", totals.requests()).field("total_denied", totals.denied);
}

void write_own_traffic(JsonWriter& json, const TrafficSummary& traffic,
                       const RuleSwitches* switches) {
  write_traffic(json, traffic, totals_of(traffic), switches);
}

// The fleet's traffic, and this node's next to it.
void write_fleet_traffic(JsonWriter& json, const FleetTraffic& fleet, const TrafficSummary& traffic,
                         const RuleSwitches* switches) {
  write_traffic(json, fleet.rates, fleet.totals, switches);
  json.field("scope", fleet.is_alone ? "node" : "fleet").field("nodes", fleet.nodes);
  json.key("node").begin_object();
  write_own_traffic(json, traffic, switches);
  json.end_object();
}

void show_health(HttpCore& core, const NodeView& view, const Exchange& exchange) {
  const bool draining = core.node().draining();
  JsonWriter json;
  json.begin_object().field("status", draining ? "draining" : "ok");
  const NodeFigures node = view.figures();
  write_redis_health(json, node.shared, exchange.now);
  write_world_health(json, node.world, exchange.now);
  json.field("version", view.info.version);
  json.field("uptime_seconds", exchange.now - view.info.started);
  const auto reload = view.reloads.figures();
  json.field("config", reload.succeeded ? "ok" : "rejected");
  if (!reload.succeeded) {
    json.field("config_rejected_for_seconds", exchange.now - reload.first_failure);
  }
  json.end_object();
  core.reply(exchange, {.status = draining ? 503 : 200, .fields = kNoStore, .body = json.text()});
}

void show_metrics(HttpCore& core, const NodeView& view, const Exchange& exchange) {
  if (wants_prometheus(exchange)) {
    const std::string text = prometheus_text(figures_of(core, view, exchange.now));
    return core.reply(
        exchange, {.content_type = kPrometheusContentType, .fields = kNegotiated, .body = text});
  }
  const TrafficSummary traffic = view.traffic.summary(exchange.now);
  const RuleSwitches* const switches = view.switches;
  JsonWriter json;
  json.begin_object();
  if (const auto shared = view.figures().shared) {
    write_fleet_traffic(json, shared->traffic, traffic, switches);
  } else {
    write_own_traffic(json, traffic, switches);
  }
  write_switches(json.key("switches"), switches, core.rules(), exchange.now);
  json.end_object();
  core.reply(exchange, {.fields = kNegotiated, .body = json.text()});
}

void show_stats(HttpCore& core, const NodeView& view, const Exchange& exchange) {
  const Figures figures = figures_of(core, view, exchange.now);
  JsonWriter json;
  json.begin_object();
  write_node(json, core, figures);
  write_rates(json, figures.traffic);
  write_totals(json, figures);
  write_section(json, "", figures);
  write_shared_store(json, figures);
  if (view.error_bar != nullptr) write_misjudged(json, view.error_bar->of_all());
  write_rules(json, core.rules(), figures);
  write_world_health(json, figures.node.world, figures.now);
  write_other_sections(json, {"store", "totals", "shared_store"}, figures);
  json.end_object();
  core.reply(exchange, {.fields = kNoStore, .body = json.text()});
}

}  // namespace

void add_node_pages(HttpCore& core, const NodeView& view) {
  const auto add = [&](std::string_view path, RouteAccess access, auto show) {
    core.routes().add(
        {{http1::Method::kGet}, path, access, [&core, &view, show](const Exchange& exchange) {
           show(core, view, exchange);
         }});
  };
  add("/health", RouteAccess::kAnybody, show_health);
  add("/metrics", RouteAccess::kAnybody, show_metrics);
  add("/admin/stats", RouteAccess::kAdmin, show_stats);
}

void add_openapi_page(HttpCore& core) {
  core.routes().add({{http1::Method::kGet},
                     "/openapi.json",
                     RouteAccess::kAnybody,
                     [&core](const Exchange& exchange) {
                       core.reply(exchange,
                                  {.body = kDocument, .lifetime = Reply::Lifetime::kProgram});
                     }});
}

}  // namespace weir
