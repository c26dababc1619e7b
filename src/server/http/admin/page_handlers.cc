// The handlers that describe this node: health, metrics, statistics.

#include <algorithm>
#include <array>
#include <string>

#include "observe/recent_traffic.h"
#include "proto/json_writer.h"
#include "server/http/admin/adaptive_json.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/admin/media_range.h"
#include "server/http/admin/metrics_text.h"
#include "server/http/http_core.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::array<NameValue, 2> kNegotiated = {{kNoStore[0], {"Vary", "Accept"}}};

// A scraper says that it prefers text; a browser or curl takes what comes.
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
  json.key("requests").number(traffic.total_allowed() + traffic.total_denied());
  json.key("allowed").number(traffic.total_allowed()).key("denied").number(traffic.total_denied());
  write_section(json, "totals", figures);
  json.end_object();
}

void write_latency(JsonWriter& json, const LatencyFigures& latency) {
  json.key("latency").begin_object().key("timed").number(latency.total());
  json.key("p50_seconds").seconds(latency.quantile(0.5));
  json.key("p99_seconds").seconds(latency.quantile(0.99)).end_object();
}

void write_rules(JsonWriter& json, const RuleSet& rules, const Figures& shown) {
  const RuleCounts& counts = shown.view.traffic.rules();
  json.key("rules").begin_array();
  for (const Rule& rule : rules.rules()) {
    json.begin_object().key("id").string(rule.id);
    if (!rule.name.empty()) json.key("name").string(as_utf8(rule.name));
    json.key("algorithm").string(algorithm_name(rule.quota.algorithm()));
    if (is_adaptive(rule)) {
      write_following(json.key("following"), shown.view.switches, rule.id, shown.now);
    }
    json.key("limit").number(rule.quota.limit());
    json.key("window_seconds").seconds(rule.quota.window());
    if (rule.quota.algorithm() == Algorithm::kTokenBucket) {
      json.key("burst").number(rule.quota.capacity());
    }
    json.key("enabled").boolean(rule.enabled);
    const RuleFigures figures = counts.figures(rule.number);
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      json.key(kRuleOutcomeNames[i]).number(figures[i]);
    }
    json.key("keys").number(counts.keys(rule.number, shown.now));
    write_latency(json, counts.latency(rule.number));
    json.end_object();
  }
  json.end_array();
}

// A node that has lost its Redis still decides; so this is no reason to send nobody here.
void write_redis_health(JsonWriter& json, const std::optional<SharedStoreFigures>& shared,
                        Instant now) {
  if (!shared) {
    json.key("redis").string("disabled");
    return;
  }
  json.key("redis").string(shared->is_healthy ? "connected" : "disconnected");
  json.key("state").string(shared->reason.empty() ? "healthy" : "degraded");
  if (!shared->reason.empty()) json.key("reason").string(as_utf8(shared->reason));
  json.key("since_seconds").seconds(now - shared->since);
  json.key("nodes").number(shared->live_nodes);
}

void write_shared_store(JsonWriter& json, const Figures& figures) {
  if (!figures.node.shared) return;
  json.key("shared_store").begin_object();
  write_redis_health(json, figures.node.shared, figures.now);
  json.key("mode").string(figures.node.shared->mode);
  write_section(json, "shared_store", figures);
  json.end_object();
}

void write_node(JsonWriter& json, HttpCore& core, const Figures& figures) {
  const ServerInfo& info = figures.view.info;
  json.key("version").string(info.version);
  json.key("uptime_seconds").seconds(figures.now - info.started);
  json.key("threads").number(info.threads).key("draining").boolean(core.node().draining());

  json.key("config").begin_object();
  json.key("last_reload_successful").boolean(figures.reload.succeeded);
  json.key("in_force_for_seconds").seconds(figures.now - figures.reload.last_success);
  json.end_object();

  json.key("store").begin_object().key("max_keys").number(info.max_keys);
  write_section(json, "store", figures);
  json.end_object();
}

TrafficRates rates_of(const TrafficSummary& traffic) {
  return {.requests_per_second = traffic.requests_per_second,
          .denied_share = traffic.denied_share,
          .burst_ratio = traffic.burst_ratio};
}

void write_rates(JsonWriter& json, const TrafficRates& rates) {
  json.key("req_per_sec").number(rates.requests_per_second);
  json.key("burst_ratio").number(rates.burst_ratio);
  json.key("deny_rate").number(rates.denied_share);
}

// What an adaptive rule has switched to last. If none ever has, what has decided most.
Algorithm active_algorithm(const RuleSwitches* switches, const TrafficTotals& totals) {
  const auto last = switches == nullptr ? std::nullopt : switches->latest();
  return last ? last->active.algorithm : totals.most_used();
}

void write_traffic(JsonWriter& json, const TrafficRates& rates, const TrafficTotals& totals,
                   const RuleSwitches* switches) {
  write_rates(json, rates);
  json.key("active_algorithm").string(algorithm_name(active_algorithm(switches, totals)));
  json.key("total_requests").number(totals.requests());
  json.key("total_denied").number(totals.denied);
}

void write_own_traffic(JsonWriter& json, const TrafficSummary& traffic,
                       const RuleSwitches* switches) {
  write_traffic(json, rates_of(traffic), totals_of(traffic), switches);
}

// The fleet's, and this node's beside it.
void write_fleet_traffic(JsonWriter& json, const FleetTraffic& fleet, const TrafficSummary& traffic,
                         const RuleSwitches* switches) {
  write_traffic(json, fleet.rates, fleet.totals, switches);
  json.key("scope").string(fleet.is_alone ? "node" : "fleet");
  json.key("nodes").number(fleet.nodes);
  json.key("node").begin_object();
  write_own_traffic(json, traffic, switches);
  json.end_object();
}

void show_health(HttpCore& core, const NodeView& view, const Exchange& exchange) {
  const bool draining = core.node().draining();
  JsonWriter json;
  json.begin_object().key("status").string(draining ? "draining" : "ok");
  write_redis_health(json, view.figures().shared, exchange.now);
  json.key("version").string(view.info.version);
  json.key("uptime_seconds").seconds(exchange.now - view.info.started);
  const auto reload = view.reloads.figures();
  json.key("config").string(reload.succeeded ? "ok" : "rejected");
  if (!reload.succeeded) {
    json.key("config_rejected_for_seconds").seconds(exchange.now - reload.first_failure);
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
  write_rates(json, rates_of(figures.traffic));
  write_totals(json, figures);
  write_section(json, "", figures);
  write_shared_store(json, figures);
  write_rules(json, core.rules(), figures);
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

}  // namespace weir
