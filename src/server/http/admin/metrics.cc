#include "server/http/admin/metrics.h"

#include <algorithm>
#include <utility>

#include "server/http/http_core.h"
#include "server/http/routes.h"

namespace weir {
namespace {

using Needs = Metric::Needs;

// Prometheus gets four series for each rule, so it gets the first of many rules only.
constexpr std::size_t kRulesShownMax = 1'000;

std::span<const Rule> rules_shown(const Figures& figures) {
  return figures.rules.first(std::min(figures.rules.size(), kRulesShownMax));
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void add(MetricSamples& samples, std::vector<std::string> labels, std::uint64_t value) {
  samples.push_back({.labels = std::move(labels), .value = static_cast<double>(value)});
}

void read_decisions(const Figures& figures, MetricSamples& samples) {
  for (std::size_t i = 0; i < kAlgorithmCount; ++i) {
    const std::string name(algorithm_name(static_cast<Algorithm>(i)));
    add(samples, {name, "allowed"}, figures.traffic.allowed[i]);
    add(samples, {name, "denied"}, figures.traffic.denied[i]);
  }
}

void read_rule_outcomes(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    const RuleFigures outcomes = figures.rule_counts->figures(rule.number);
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      add(samples, {rule.id, std::string(kRuleOutcomeNames[i])}, outcomes[i]);
    }
  }
}

void read_rule_keys(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    add(samples, {rule.id}, figures.rule_counts->keys(rule.number, figures.now));
  }
}

void read_rule_timed(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    add(samples, {rule.id}, figures.rule_counts->latency(rule.number).total());
  }
}

void read_rule_latency(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    const LatencyFigures latency = figures.rule_counts->latency(rule.number);
    samples.push_back({.labels = {rule.id, "0.5"}, .value = seconds(latency.quantile(0.5))});
    samples.push_back({.labels = {rule.id, "0.99"}, .value = seconds(latency.quantile(0.99))});
  }
}

void read_details(const Figures& figures, MetricSamples& samples) {
  if (figures.details == nullptr) return;
  for (const DetailedCounts::Series& series : figures.details->all()) {
    add(samples, {series.rule, series.values, "within_limit"}, series.within_limit);
    add(samples, {series.rule, series.values, "over_limit"}, series.over_limit);
  }
}

void read_http_requests(const Figures& figures, MetricSamples& samples) {
  for (std::size_t route = 0; route < kRouteIdCount; ++route) {
    const std::string name(route_name(static_cast<RouteId>(route)));
    for (std::size_t status = 0; status < kStatusClassCount; ++status) {
      const std::uint64_t count = figures.http.requests[route][status];
      if (count > 0) add(samples, {name, std::string(kStatusClassNames[status])}, count);
    }
  }
}

void read_store_failures(const Figures& figures, MetricSamples& samples) {
  for (const auto& [kind, count] : figures.shared->failures) {
    add(samples, {std::string(kind)}, count);
  }
}

constexpr Metric kRows[] = {
    {.name = "weir_decisions_total",
     .help = "Decisions that the store made, by algorithm and outcome.",
     .json = "algorithms",
     .samples = read_decisions,
     .labels = {{{"algorithm"}, {"decision", "allowed, denied"}}}},
    {.name = "weir_looks_total",
     .help = "Checks that /v1/look or another look answered without spending.",
     .json = "totals.looks",
     .value = [](const Figures& figures) { return figures.traffic.looks; }},
    {.name = "weir_store_errors_total",
     .help = "Batches of up to 16 checks that the store did not answer.",
     .json = "totals.store_errors",
     .value = [](const Figures& figures) { return figures.traffic.store_errors; }},
    {.name = "weir_rule_requests_total",
     .help = "Answers of each rule in force, of the first 1000; shadow would have denied.",
     .samples = read_rule_outcomes,
     .labels = {{{"rule"}, {"decision", "allowed, denied, blocked, shadow"}}}},
    {.name = "weir_rule_keys",
     .help = "Different keys that each rule had in this minute and the one before, an estimate.",
     .samples = read_rule_keys,
     .labels = {{{"rule"}}}},
    {.name = "weir_rule_answers_timed_total",
     .help = "Answers of each rule whose latency was measured.",
     .samples = read_rule_timed,
     .labels = {{{"rule"}}}},
    {.name = "weir_rule_latency_seconds",
     .help = "Latency that this share of the timed answers of each rule did not exceed.",
     .samples = read_rule_latency,
     .labels = {{{"rule"}, {"quantile", "0.5, 0.99"}}}},
    {.name = "weir_descriptor_requests_total",
     .help =
         "Answers of Envoy's rules with detailed_metric or value_to_metric, by the values of the "
         "request; beyond 1000 different ones the rest counts as (others).",
     .samples = read_details,
     .labels = {{{"rule"}, {"descriptor"}, {"decision", "within_limit, over_limit"}}}},
    {.name = "weir_http_requests_total",
     .help = "HTTP requests that the node answered, by route (other: no such path) and class of "
             "status.",
     .json = "http.requests",
     .samples = read_http_requests,
     .labels = {{{"route"}, {"status", "2xx, 3xx, 4xx, 5xx"}}}},
    {.name = "weir_connections",
     .help = "HTTP connections that are open.",
     .json = "http.connections",
     .value = [](const Figures& figures) { return figures.http.connections; }},
    {.name = "weir_connections_accepted_total",
     .help = "Connections that the node accepted, at all doors.",
     .json = "listeners.accepted",
     .value = [](const Figures& figures) { return figures.listeners.accepted; }},
    {.name = "weir_connections_refused_total",
     .help = "Connections that the node reset because it had no room for more.",
     .json = "listeners.refused",
     .value = [](const Figures& figures) { return figures.listeners.refused; }},
    {.name = "weir_connections_stalled_total",
     .help = "Connections that the node reset because the peer did not read its replies.",
     .json = "listeners.stalled",
     .value = [](const Figures& figures) { return figures.listeners.stalled; }},
    {.name = "weir_tls_handshakes_failed_total",
     .help = "Connections whose TLS handshake failed or took too long.",
     .json = "listeners.failed_handshakes",
     .value = [](const Figures& figures) { return figures.listeners.failed_handshakes; }},
    {.name = "weir_proxy_headers_refused_total",
     .help = "Connections without a PROXY header where one is required, or from a peer that is "
             "not trusted.",
     .json = "listeners.refused_headers",
     .value = [](const Figures& figures) { return figures.listeners.refused_headers; }},
    {.name = "weir_connections_open",
     .help = "Connections that are open, at all doors.",
     .json = "listeners.open",
     .value = [](const Figures& figures) { return figures.listeners.open; }},
    {.name = "weir_connections_max",
     .help = "Connections that all doors together may hold.",
     .json = "listeners.max",
     .value = [](const Figures& figures) { return figures.listeners.max; }},
    {.name = "weir_connections_shed_total",
     .help = "Connections that the node reset because all held more than max_buffered, and they "
             "most.",
     .json = "listeners.shed",
     .value = [](const Figures& figures) { return figures.listeners.shed; }},
    {.name = "weir_connections_flooded_total",
     .help = "Connections that the node closed because the peer only made work.",
     .json = "listeners.flooded",
     .value = [](const Figures& figures) { return figures.listeners.flooded; }},
    {.name = "weir_buffered_bytes",
     .help = "Memory that connections hold: input, output and requests under way.",
     .json = "listeners.buffered",
     .value = [](const Figures& figures) { return figures.listeners.buffered; }},
    {.name = "weir_buffered_bytes_max",
     .help = "Memory that all connections together may hold (max_buffered).",
     .json = "listeners.buffered_max",
     .value = [](const Figures& figures) { return figures.listeners.buffered_max; }},
    {.name = "weir_resp_connections",
     .help = "Connections that are open at the Redis doors.",
     .json = "resp.connections",
     .value = [](const Figures& figures) { return figures.resp.opened - figures.resp.closed; }},
    {.name = "weir_resp_connections_accepted_total",
     .help = "Connections that the Redis doors accepted.",
     .json = "resp.accepted",
     .value = [](const Figures& figures) { return figures.resp.opened; }},
    {.name = "weir_resp_commands_total",
     .help = "Commands that the Redis doors answered.",
     .json = "resp.commands",
     .value = [](const Figures& figures) { return figures.resp.commands; }},
    {.name = "weir_blocks",
     .help = "Keys that are blocked.",
     .json = "blocks",
     .value = [](const Figures& figures) { return figures.blocks; }},
    {.name = "weir_keys_capacity",
     .help = "Keys that the store has room for.",
     .json = "store.keys_capacity",
     .value = [](const Figures& figures) { return figures.store.capacity; }},
    {.name = "weir_store_bytes",
     .help = "Memory that the store has reserved.",
     .json = "store.bytes",
     .value = [](const Figures& figures) { return figures.store.bytes; }},
    {.name = "weir_evictions_total",
     .help = "Live keys that the store dropped to make room.",
     .json = "store.evictions",
     .value = [](const Figures& figures) { return figures.store.evictions; }},
    {.name = "weir_store_log_entries",
     .help = "Entries that sliding logs hold in the store.",
     .json = "store.log_entries",
     .value = [](const Figures& figures) { return figures.store.log_entries; }},
    {.name = "weir_store_up",
     .help = "1 while the shared store decides, else 0.",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->is_healthy; }},
    {.name = "weir_fleet_nodes",
     .help = "Nodes that share the store and are alive.",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->live_nodes; }},
    {.name = "weir_store_calls_total",
     .help = "Calls of the shared store that decide.",
     .json = "shared_store.calls",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->calls; }},
    {.name = "weir_store_charges_total",
     .help = "Charges in these calls.",
     .json = "shared_store.charges",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->charges; }},
    {.name = "weir_store_remembered_total",
     .help = "Denials that the node remembered, so that they took no call.",
     .json = "shared_store.remembered",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->remembered; }},
    {.name = "weir_store_fallbacks_total",
     .help = "Decisions that this node made alone because the shared store had failed.",
     .json = "shared_store.fallbacks",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.traffic.fallbacks; }},
    {.name = "weir_store_script_loads_total",
     .help = "Times that a node loaded its script into the shared store again.",
     .json = "shared_store.script_loads",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->script_loads; }},
    {.name = "weir_leased_batches_from_memory_total",
     .help = "Batches that mode leased decided from its leases.",
     .json = "shared_store.leased_from_memory",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leased_from_memory; }},
    {.name = "weir_leased_batches_waited_total",
     .help = "Batches that waited for a lease.",
     .json = "shared_store.leased_waited",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leased_waited; }},
    {.name = "weir_leased_batches_passed_on_total",
     .help = "Batches that mode leased left to mode strict.",
     .json = "shared_store.leased_passed_on",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leased_passed_on; }},
    {.name = "weir_leases_total",
     .help = "Leases that mode leased requested.",
     .json = "shared_store.leases",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leases; }},
    {.name = "weir_leased_units_granted_total",
     .help = "Units that these leases brought.",
     .json = "shared_store.leased_granted",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leased_granted; }},
    {.name = "weir_leased_units_returned_total",
     .help = "Units that mode leased gave back unspent.",
     .json = "shared_store.leased_returned",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leased_returned; }},
    {.name = "weir_leased_units_expired_total",
     .help = "Units that a lease lost when it expired, neither spent nor given back.",
     .json = "shared_store.leased_expired",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->leased_expired; }},
    {.name = "weir_async_pushes_total",
     .help = "Keys whose counts mode async sent to the shared store.",
     .json = "shared_store.async_pushes",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_pushes; }},
    {.name = "weir_async_units_pushed_total",
     .help = "Units that mode async sent to the shared store.",
     .json = "shared_store.async_pushed",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_pushed; }},
    {.name = "weir_async_batches_from_memory_total",
     .help = "Batches that mode async decided from its copy.",
     .json = "shared_store.async_from_memory",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_from_memory; }},
    {.name = "weir_async_batches_passed_on_total",
     .help = "Batches that mode async left to mode strict.",
     .json = "shared_store.async_passed_on",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_passed_on; }},
    {.name = "weir_async_states_merged_total",
     .help = "States of keys that mode async got from the shared store.",
     .json = "shared_store.async_merged",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_merged; }},
    {.name = "weir_async_units_forgotten_total",
     .help = "Units that mode async admitted alone and could not push later.",
     .json = "shared_store.async_forgotten",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_forgotten; }},
    {.name = "weir_async_units_alone_total",
     .help = "Units that mode async admitted while the shared store was away.",
     .json = "shared_store.async_alone",
     .needs = Needs::kSharedStore,
     .value = [](const Figures& figures) { return figures.shared->async_alone; }},
    {.name = "weir_store_failures_total",
     .help = "Batches, leases, returns and syncs that the shared store did not carry out, by kind.",
     .json = "shared_store.failures",
     .needs = Needs::kSharedStore,
     .samples = read_store_failures,
     .labels = {{{"kind"}}}},
    {.name = "weir_build_info",
     .help = "Always 1; the version is a label.",
     .samples = [](const Figures& figures,
                   MetricSamples& samples) { add(samples, {std::string(figures.version)}, 1); },
     .labels = {{{"version"}}}},
    {.name = "weir_uptime_seconds",
     .help = "Time since the start.",
     .value = [](const Figures& figures) { return seconds(figures.uptime); }},
    {.name = "weir_rules",
     .help = "Rules in force.",
     .value = [](const Figures& figures) { return figures.rules.size(); }},
    {.name = "weir_config_last_reload_successful",
     .help = "1 if the node accepted the configuration that it read last, else 0.",
     .value = [](const Figures& figures) { return figures.reload.succeeded; }},
    {.name = "weir_config_last_reload_success_timestamp_seconds",
     .help = "The time at which the node read the configuration in force, in seconds since 1970.",
     .value =
         [](const Figures& figures) {
           return seconds(figures.reload.last_success.time_since_epoch());
         }},
};

}  // namespace

std::span<const Metric> metrics() { return kRows; }

MetricSamples Metric::read(const Figures& figures) const {
  MetricSamples all;
  if (samples != nullptr) {
    samples(figures, all);
  } else {
    all.push_back({.labels = {}, .value = value(figures)});
  }
  return all;
}

Figures figures_of(HttpCore& core, Instant now) {
  HttpNode& node = core.node();
  return {.version = node.info().version,
          .uptime = now - node.info().started,
          .now = now,
          .traffic = node.traffic().summary(now),
          .http = node.counts().summary(),
          .listeners = node.listener_figures(),
          .resp = node.resp_figures(),
          .store = node.store_figures(),
          .blocks = core.blocks().size(),
          .reload = node.reload_figures(),
          .shared = node.shared_store(),
          .rules = core.rules().rules(),
          .rule_counts = &node.traffic().rules(),
          .details = node.rls_options().detailed_counts};
}

}  // namespace weir
