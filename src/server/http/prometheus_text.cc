#include "server/http/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "server/http/routes.h"

namespace weir {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;

MetricFamily& add_family(Families& families, std::string name, std::string help, MetricType type) {
  MetricFamily& family = families.emplace_back();
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

void add_sample(MetricFamily& family, double value, Labels labels = {}) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.counter.value = value;  // the serializer reads the one that the type says
  metric.gauge.value = value;
}

void add_counter(Families& families, std::string name, std::string help, std::uint64_t value) {
  add_sample(add_family(families, std::move(name), std::move(help), MetricType::Counter),
             static_cast<double>(value));
}

void add_gauge(Families& families, std::string name, std::string help, double value) {
  add_sample(add_family(families, std::move(name), std::move(help), MetricType::Gauge), value);
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void add_traffic(Families& families, const TrafficSummary& traffic) {
  MetricFamily& decisions = add_family(families, "weir_decisions_total",
                                       "Decisions, by algorithm and outcome.", MetricType::Counter);
  for (std::size_t i = 0; i < kAlgorithmCount; ++i) {
    const std::string name(algorithm_name(static_cast<Algorithm>(i)));
    add_sample(decisions, static_cast<double>(traffic.allowed[i]),
               {{"algorithm", name}, {"decision", "allowed"}});
    add_sample(decisions, static_cast<double>(traffic.denied[i]),
               {{"algorithm", name}, {"decision", "denied"}});
  }
  add_counter(families, "weir_looks_total", "Questions that spent nothing.", traffic.looks);
  add_counter(families, "weir_store_errors_total", "Batches that the store did not answer.",
              traffic.store_errors);
}

// Of many rules only the first: each is four series.
constexpr std::size_t kRulesShownMax = 1'000;

void add_rules(Families& families, std::span<const Rule> rules, const RuleCounts& counts) {
  MetricFamily& requests =
      add_family(families, "weir_rule_requests_total",
                 "What rules answered, of the first 1000 in force.", MetricType::Counter);
  for (const Rule& rule : rules.first(std::min(rules.size(), kRulesShownMax))) {
    const RuleFigures figures = counts.figures(rule.number);
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      add_sample(requests, static_cast<double>(figures[i]),
                 {{"rule", rule.id}, {"decision", std::string(kRuleOutcomeNames[i])}});
    }
  }
}

void add_details(Families& families, const DetailedCounts& counts) {
  MetricFamily& hits = add_family(families, "weir_descriptor_requests_total",
                                  "What Envoy's rules with detailed metrics answered, by the "
                                  "values of the descriptor.",
                                  MetricType::Counter);
  for (const DetailedCounts::Series& series : counts.all()) {
    const auto labels = [&](const char* decision) {
      return Labels{{"rule", series.rule}, {"descriptor", series.values}, {"decision", decision}};
    };
    add_sample(hits, static_cast<double>(series.within_limit), labels("within_limit"));
    add_sample(hits, static_cast<double>(series.over_limit), labels("over_limit"));
  }
}

void add_http(Families& families, const HttpCountsSummary& http) {
  MetricFamily& requests =
      add_family(families, "weir_http_requests_total",
                 "HTTP requests answered, by route and class of status.", MetricType::Counter);
  for (std::size_t route = 0; route < kRouteIdCount; ++route) {
    const std::string name(route_name(static_cast<RouteId>(route)));
    for (std::size_t status = 0; status < kStatusClassCount; ++status) {
      if (http.requests[route][status] == 0) continue;
      add_sample(requests, static_cast<double>(http.requests[route][status]),
                 {{"route", name}, {"status", std::string(kStatusClassNames[status])}});
    }
  }
  add_gauge(families, "weir_connections", "HTTP connections open.",
            static_cast<double>(http.connections));
}

void add_listeners(Families& families, const ListenerFigures& listeners) {
  add_counter(families, "weir_connections_accepted_total", "Connections accepted, of all doors.",
              listeners.accepted);
  add_counter(families, "weir_connections_refused_total",
              "Connections reset because there was no room for more.", listeners.refused);
  add_counter(families, "weir_connections_stalled_total",
              "Connections reset because the peer did not read its replies.", listeners.stalled);
  add_counter(families, "weir_tls_handshakes_failed_total",
              "Connections whose TLS handshake failed or took too long.",
              listeners.failed_handshakes);
  add_counter(families, "weir_proxy_headers_refused_total",
              "Connections without a PROXY header where one is required, or from a peer that is "
              "not trusted.",
              listeners.refused_headers);
}

void add_store(Families& families, const StoreFigures& store) {
  add_gauge(families, "weir_keys_capacity", "Keys that the store has room for.",
            static_cast<double>(store.capacity));
  add_gauge(families, "weir_store_bytes", "Memory that the store has reserved.",
            static_cast<double>(store.bytes));
  add_counter(families, "weir_evictions_total", "Live keys that had to make room.",
              store.evictions);
}

void add_shared_store(Families& families, const SharedStoreFigures& shared,
                      std::uint64_t fallbacks) {
  add_gauge(families, "weir_store_up", "Whether shared decisions are made: 1 or 0.",
            shared.is_healthy ? 1 : 0);
  add_gauge(families, "weir_fleet_nodes", "Nodes that share the store and are alive.",
            static_cast<double>(shared.live_nodes));
  add_counter(families, "weir_store_calls_total", "Calls of the shared store.", shared.calls);
  add_counter(families, "weir_store_charges_total", "Charges in these calls.", shared.charges);
  add_counter(families, "weir_store_remembered_total",
              "Denials that were remembered, and took no call.", shared.remembered);
  add_counter(families, "weir_store_fallbacks_total",
              "Decisions that this node made alone because the shared store had failed.",
              fallbacks);
  const auto units = [](std::int64_t count) { return static_cast<std::uint64_t>(count); };
  add_counter(families, "weir_leases_total", "Leases asked for.", shared.leases);
  add_counter(families, "weir_leased_units_granted_total", "Units of these leases.",
              units(shared.leased_granted));
  add_counter(families, "weir_leased_units_returned_total", "Units that were given back.",
              units(shared.leased_returned));
  add_counter(families, "weir_leased_units_expired_total",
              "Units that were neither spent nor given back.", units(shared.leased_expired));
  add_counter(families, "weir_async_pushes_total", "Keys whose counts were told.",
              shared.async_pushes);
  add_counter(families, "weir_async_units_pushed_total", "Units that were told.",
              units(shared.async_pushed));
  MetricFamily& failures =
      add_family(families, "weir_store_failures_total",
                 "Batches that the shared store did not decide, by kind.", MetricType::Counter);
  for (const auto& [kind, count] : shared.failures) {
    add_sample(failures, static_cast<double>(count), {{"kind", std::string(kind)}});
  }
}

void add_node(Families& families, const HttpNode& node, const PrometheusInput& input) {
  add_sample(add_family(families, "weir_build_info", "Always 1; the version is a label.",
                        MetricType::Gauge),
             1, {{"version", node.info().version}});
  add_gauge(families, "weir_uptime_seconds", "Time since the start.",
            seconds(input.now - node.info().started));
  add_gauge(families, "weir_rules", "Rules in force.", static_cast<double>(input.rules.size()));
  const ReloadFigures reload = node.reload_figures();
  add_gauge(families, "weir_config_last_reload_successful",
            "Whether the configuration was accepted when it was last read.",
            reload.succeeded ? 1 : 0);
  add_gauge(families, "weir_config_last_reload_success_timestamp_seconds",
            "When the configuration in force was read, in seconds since 1970.",
            seconds(reload.last_success.time_since_epoch()));
}

}  // namespace

std::string prometheus_text(HttpNode& node, const PrometheusInput& input) {
  Families families;
  families.reserve(32);  // add_family() hands out references
  add_traffic(families, node.traffic().summary(input.now));
  add_rules(families, input.rules, node.traffic().rules());
  if (const auto* details = node.rls_options().detailed_counts) add_details(families, *details);
  add_http(families, node.counts().summary());
  add_listeners(families, node.listener_figures());
  add_store(families, node.store_figures());
  if (const auto shared = node.shared_store()) {
    add_shared_store(families, *shared, node.traffic().summary(input.now).fallbacks);
  }
  add_node(families, node, input);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace weir
