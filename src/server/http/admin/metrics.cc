#include "server/http/admin/metrics.h"

#include <algorithm>
#include <utility>

#include "server/http/admin/shared_json.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

using Needs = Metric::Needs;

// Prometheus gets four series for each rule, so it gets the first of many rules only.
constexpr std::size_t kRulesShownMax = 1'000;

std::span<const Rule> rules_shown(const Figures& figures) {
  return figures.rules.first(std::min(figures.rules.size(), kRulesShownMax));
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::size_t holds_of(const Engine* engine) {
  return engine == nullptr || engine->holds == nullptr ? 0 : engine->holds->size();
}

void add(MetricSamples& samples, std::vector<std::string> labels, std::uint64_t value) {
  samples.push_back({.labels = std::move(labels), .value = static_cast<double>(value)});
}

void read_decisions(const Figures& figures, MetricSamples& samples) {
  for (std::size_t i = 0; i < kDecidingAlgorithmCount; ++i) {
    const std::string name(algorithm_name(static_cast<Algorithm>(i)));
    add(samples, {name, "allowed"}, figures.traffic.allowed[i]);
    add(samples, {name, "denied"}, figures.traffic.denied[i]);
  }
}

void read_rule_outcomes(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    const RuleFigures outcomes = figures.view.traffic.rules().figures(rule.number);
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      add(samples, {rule.id, std::string(kRuleOutcomeNames[i])}, outcomes[i]);
    }
  }
}

void read_rule_keys(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    add(samples, {rule.id}, figures.view.traffic.rules().keys(rule.number, figures.now));
  }
}

void read_rule_timed(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    add(samples, {rule.id}, figures.view.traffic.rules().latency(rule.number).total());
  }
}

void read_rule_latency(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    const LatencyFigures latency = figures.view.traffic.rules().latency(rule.number);
    samples.push_back({.labels = {rule.id, "0.5"}, .value = seconds(latency.quantile(0.5))});
    samples.push_back({.labels = {rule.id, "0.99"}, .value = seconds(latency.quantile(0.99))});
  }
}

// Calls `read` with the id of each rule that may switch and the algorithm that it follows.
template <typename Read>
void each_switching(const Figures& figures, Read read) {
  for (const Rule& rule : rules_shown(figures)) {
    if (figures.view.switches == nullptr || !may_switch(rule)) continue;
    read(rule.id, figures.view.switches->of(rule.id).value_or(RuleSwitch()));
  }
}

void read_active_algorithms(const Figures& figures, MetricSamples& samples) {
  each_switching(figures, [&](const std::string& rule, const RuleSwitch& last) {
    add(samples, {rule, std::string(algorithm_name(last.active.algorithm))}, 1);
  });
}

void read_switches(const Figures& figures, MetricSamples& samples) {
  each_switching(figures, [&](const std::string& rule, const RuleSwitch& last) {
    add(samples, {rule}, last.count);
  });
}

void read_rule_unusual(const Figures& figures, MetricSamples& samples) {
  if (figures.view.unusual_rules == nullptr) return;
  for (const Rule& rule : rules_shown(figures)) {
    add(samples, {rule.id}, figures.view.unusual_rules->holds(rule.number) ? 1 : 0);
  }
}

template <auto kRead>
void read_judged(const Figures& figures, MetricSamples& samples) {
  if (figures.view.error_bar == nullptr) return;
  for (const Rule& rule : rules_shown(figures)) {
    const ErrorBar::Tally tally = figures.view.error_bar->of(rule.number);
    if (tally.requests > 0) kRead(rule.id, tally, samples);
  }
}

void add_judged(const std::string& rule, const ErrorBar::Tally& tally, MetricSamples& samples) {
  add(samples, {rule}, tally.requests);
}

void add_misjudged(const std::string& rule, const ErrorBar::Tally& tally, MetricSamples& samples) {
  add(samples, {rule, "denied_early"}, tally.denied_early);
  add(samples, {rule, "admitted_over"}, tally.admitted_over);
}

// A rule has no sample if its value is unknown.
void read_over_now(const Figures& figures, MetricSamples& samples) {
  for (const Rule& rule : rules_shown(figures)) {
    const auto units = over_now_of(*figures.engine, rule, figures.now).units;
    if (units) add(samples, {rule.id}, static_cast<std::uint64_t>(*units));
  }
}

void read_details(const Figures& figures, MetricSamples& samples) {
  if (figures.view.details == nullptr) return;
  for (const DetailedCounts::Series& series : figures.view.details->all()) {
    add(samples, {series.rule, series.values, "within_limit"}, series.within_limit);
    add(samples, {series.rule, series.values, "over_limit"}, series.over_limit);
  }
}

void read_http_requests(const Figures& figures, MetricSamples& samples) {
  const auto read = [&](RouteId route, std::string_view name) {
    for (std::size_t i = 0; i < kStatusClassNames.size(); ++i) {
      const auto count = figures.http[http_requests(route, 200) + i];
      if (count > 0) add(samples, {std::string(name), std::string(kStatusClassNames[i])}, count);
    }
  };
  for (std::size_t i = 0; i < figures.routes.size(); ++i) {
    read(static_cast<RouteId>(i), figures.routes[i].path);
  }
  read(kNoRoute, "other");
}

void read_store_failures(const Figures& figures, MetricSamples& samples) {
  for (const auto& [kind, count] : figures.node.shared->failures) {
    add(samples, {std::string(kind)}, count);
  }
}

// How most rows read their figure.
template <auto kMember>
constexpr auto traffic = [](const Figures& figures) { return figures.traffic.*kMember; };
template <auto kMember>
constexpr auto listeners = [](const Figures& figures) { return figures.node.listeners.*kMember; };
template <auto kMember>
constexpr auto store = [](const Figures& figures) { return figures.node.store.*kMember; };
template <auto kMember>
constexpr auto webhook = [](const Figures& figures) { return figures.node.webhook.*kMember; };
template <auto kMember>
constexpr auto fleet =
    [](const Figures& figures) { return figures.node.shared->traffic.rates.*kMember; };
template <FleetCount kCount>
constexpr auto count = [](const Figures& figures) { return figures.node.shared->counts[kCount]; };

// A row that only a node with a shared store shows.
constexpr Metric shared(std::string_view name, std::string_view help, std::string_view json,
                        MetricValue value) {
  return {.name = name, .help = help, .json = json, .value = value, .needs = Needs::kSharedStore};
}

constexpr Metric kRows[] = {
    {.name = "weir_decisions_total",
     .help = "Decisions that the store made, by algorithm and outcome. What a rule in shadow lets "
             "pass is allowed.",
     .json = "algorithms",
     .samples = read_decisions,
     .labels = {{{"algorithm"}, {"decision", "allowed, denied"}}}},
    {"weir_looks_total", "Checks that /v1/look or another look answered without spending.",
     "totals.looks", traffic<&TrafficSummary::looks>},
    {"weir_store_errors_total", "Batches of up to 16 checks that the store did not answer.",
     "totals.store_errors", traffic<&TrafficSummary::store_errors>},
    {.name = "weir_rule_requests_total",
     .help = "Answers of each rule that counts them, of the first 1000; shadow would have denied.",
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
    {.name = "weir_rule_active_algorithm",
     .help = "Always 1; the algorithm that each rule that switches follows now is a label.",
     .samples = read_active_algorithms,
     .labels = {{{"rule"}, {"algorithm", "sliding_window, token_bucket, exponential_backoff"}}}},
    {.name = "weir_rule_switches_total",
     .help = "Times that each rule that switches has changed the algorithm that it follows.",
     .samples = read_switches,
     .labels = {{{"rule"}}}},
    {.name = "weir_rule_unusual",
     .help = "1 while the traffic of the rule is unusual, else 0.",
     .samples = read_rule_unusual,
     .labels = {{{"rule"}}}},
    {.name = "weir_judged_total",
     .help = "Requests of each rule with a sliding_window in mode local which an exact log has "
             "judged: about one in 200.",
     .samples = read_judged<add_judged>,
     .labels = {{{"rule"}}}},
    {.name = "weir_misjudged_total",
     .help = "Those of them that the window denied although they would have fit, or admitted "
             "although they did not.",
     .samples = read_judged<add_misjudged>,
     .labels = {{{"rule"}, {"kind", "denied_early, admitted_over"}}}},
    {.name = "weir_rule_over_now_max",
     .help =
         "Units of one key that the nodes which share the rule's limit may admit above it at this "
         "moment, because they share it, at most.",
     .needs = Needs::kSharedStore,
     .samples = read_over_now,
     .labels = {{{"rule"}}}},
    {"weir_unusual_traffic_total", "Times that the traffic of a rule became unusual.",
     "unusual_traffic.began", [](const Figures& figures) { return figures.node.events.began; }},
    {"weir_unusual_traffic_open", "Rules whose traffic is unusual now.", "unusual_traffic.open",
     [](const Figures& figures) { return figures.node.events.open; }},
    {"weir_webhook_delivered_total", "Events that the webhook's receiver has accepted.",
     "unusual_traffic.webhook_delivered", webhook<&WebhookFigures::delivered>},
    {"weir_webhook_failed_total", "Events that the webhook has given up after a few attempts.",
     "unusual_traffic.webhook_failed", webhook<&WebhookFigures::failed>},
    {"weir_webhook_dropped_total", "Events that found 100 others waiting for the webhook.",
     "unusual_traffic.webhook_dropped", webhook<&WebhookFigures::dropped>},
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
    {"weir_connections", "HTTP connections that are open.", "http.connections",
     [](const Figures& figures) { return figures.http[kHttpOpened] - figures.http[kHttpClosed]; }},
    {"weir_consoles", "Consoles that get the figures of each second by a WebSocket.",
     "console.listening", [](const Figures& figures) { return figures.node.console.listening; }},
    {"weir_consoles_dropped_total",
     "Consoles that the node gave up because they did not read, or only made work.",
     "console.dropped", [](const Figures& figures) { return figures.node.console.dropped; }},
    {"weir_console_sessions", "People who are signed in to the console.", "console.sessions",
     [](const Figures& figures) { return figures.node.console.sessions; }},
    {"weir_connections_accepted_total", "Connections that the node accepted, at all doors.",
     "listeners.accepted", listeners<&ConnectionFigures::accepted>},
    {"weir_connections_refused_total",
     "Connections that the node reset because it had no room for more.", "listeners.refused",
     listeners<&ConnectionFigures::refused>},
    {"weir_connections_stalled_total",
     "Connections that the node reset because the peer did not read its replies.",
     "listeners.stalled", listeners<&ConnectionFigures::stalled>},
    {"weir_tls_handshakes_failed_total", "Connections whose TLS handshake failed or took too long.",
     "listeners.failed_handshakes", listeners<&ConnectionFigures::failed_handshakes>},
    {"weir_proxy_headers_refused_total",
     "Connections without a PROXY header where one is required, or from a peer that is not "
     "trusted.",
     "listeners.refused_headers", listeners<&ConnectionFigures::refused_headers>},
    {"weir_connections_open", "Connections that are open, at all doors.", "listeners.open",
     listeners<&ConnectionFigures::open>},
    {"weir_connections_max", "Connections that all doors together may hold.", "listeners.max",
     listeners<&ConnectionFigures::max>},
    {"weir_connections_shed_total",
     "Connections that the node reset because all held more than max_buffered, and they most.",
     "listeners.shed", listeners<&ConnectionFigures::shed>},
    {"weir_connections_flooded_total",
     "Connections that the node closed because the peer only made work.", "listeners.flooded",
     listeners<&ConnectionFigures::flooded>},
    {"weir_buffered_bytes", "Memory that connections hold: input, output and requests under way.",
     "listeners.buffered", listeners<&ConnectionFigures::buffered>},
    {"weir_buffered_bytes_max", "Memory that all connections together may hold (max_buffered).",
     "listeners.buffered_max", listeners<&ConnectionFigures::buffered_max>},
    {"weir_resp_connections", "Connections that are open at the Redis doors.", "resp.connections",
     [](const Figures& figures) {
       return figures.node.resp[kRespOpened] - figures.node.resp[kRespClosed];
     }},
    {"weir_resp_connections_accepted_total", "Connections that the Redis doors accepted.",
     "resp.accepted", [](const Figures& figures) { return figures.node.resp[kRespOpened]; }},
    {"weir_resp_commands_total", "Commands that the Redis doors answered.", "resp.commands",
     [](const Figures& figures) { return figures.node.resp[kRespCommands]; }},
    {"weir_logins_failed_total",
     "Passwords and admin tokens that the doors compared and that were wrong.", "logins.failed",
     [](const Figures& figures) { return figures.node.logins.failed; }},
    {"weir_logins_refused_total",
     "Passwords and admin tokens that the doors did not compare, for too many wrong ones came from "
     "the address.",
     "logins.refused", [](const Figures& figures) { return figures.node.logins.refused; }},
    {"weir_blocks", "Keys that are blocked.", "blocks",
     [](const Figures& figures) { return figures.blocks; }},
    {"weir_blocks_dropped_total",
     "Blocks that ended early, or never began, because the list of blocks was full.",
     "blocks_dropped", [](const Figures& figures) { return figures.blocks_dropped; }},
    {"weir_holds", "Reservations and slots that this node holds in memory, of 65,536 at most.",
     "holds", [](const Figures& figures) { return holds_of(figures.engine); }},
    {"weir_keys_capacity", "Keys that the store has room for.", "store.keys_capacity",
     store<&MemoryStoreStats::capacity>},
    {"weir_store_bytes", "Memory that the store has reserved.", "store.bytes",
     store<&MemoryStoreStats::bytes>},
    {"weir_evictions_total", "Live keys that the store dropped to make room.", "store.evictions",
     store<&MemoryStoreStats::evictions>},
    {"weir_freed_keys_total", "Evicted keys that had nothing left of their limit, and start at 0.",
     "store.freed_keys", store<&MemoryStoreStats::freed>},
    {"weir_refused_keys_total",
     "New keys that rules with on_full: deny denied because the store was full.",
     "store.refused_keys", store<&MemoryStoreStats::refused>},
    {"weir_store_log_entries", "Entries that sliding logs hold in the store.", "store.log_entries",
     store<&MemoryStoreStats::log_entries>},
    shared("weir_store_up", "1 while the shared store decides, else 0.", "",
           [](const Figures& figures) { return figures.node.shared->is_healthy; }),
    shared("weir_fleet_nodes", "Nodes that share the store and are alive.", "",
           [](const Figures& figures) { return figures.node.shared->live_nodes; }),
    {.name = "weir_world_up",
     .help = "1 while the Redis of all places decides, else 0.",
     .value = [](const Figures& figures) { return figures.node.world->is_healthy; },
     .needs = Metric::Needs::kWorld},
    {.name = "weir_world_nodes",
     .help = "Nodes of all places that are alive.",
     .value = [](const Figures& figures) { return figures.node.world->live_nodes; },
     .needs = Metric::Needs::kWorld},
    shared("weir_fleet_requests_per_second",
           "Requests a second of all nodes, over the last ten; of this one alone while the store "
           "is away.",
           "fleet.req_per_sec", fleet<&TrafficRates::requests_per_second>),
    shared("weir_fleet_denied_share", "Share of these requests that were denied, 0 to 1.",
           "fleet.deny_rate", fleet<&TrafficRates::denied_share>),
    shared("weir_fleet_burst_ratio",
           "Rate of the last two of these seconds over that of all ten; 0 without traffic.",
           "fleet.burst_ratio", fleet<&TrafficRates::burst_ratio>),
    shared("weir_fleet_nodes_counted", "Nodes whose requests these are.", "fleet.nodes",
           [](const Figures& figures) { return figures.node.shared->traffic.nodes; }),
    shared("weir_store_calls_total", "Calls of the shared store that decide.", "shared_store.calls",
           count<kStoreCalls>),
    shared("weir_store_charges_total", "Charges in these calls.", "shared_store.charges",
           count<kStoreCharges>),
    shared("weir_store_remembered_total",
           "Denials that the node remembered, so that they took no call.",
           "shared_store.remembered", count<kRemembered>),
    shared("weir_store_fallbacks_total",
           "Decisions that this node made alone because the shared store had failed.",
           "shared_store.fallbacks", traffic<&TrafficSummary::fallbacks>),
    shared("weir_store_script_loads_total",
           "Times that a node loaded its script into the shared store again.",
           "shared_store.script_loads", count<kScriptLoads>),
    shared("weir_leased_batches_from_memory_total",
           "Batches that mode leased decided from its leases.", "shared_store.leased_from_memory",
           count<kLeasedFromMemory>),
    shared("weir_leased_batches_waited_total", "Batches that waited for a lease.",
           "shared_store.leased_waited", count<kLeasedWaited>),
    shared("weir_leased_batches_passed_on_total", "Batches that mode leased left to mode strict.",
           "shared_store.leased_passed_on", count<kLeasedPassedOn>),
    shared("weir_leases_total", "Leases that mode leased requested.", "shared_store.leases",
           count<kLeases>),
    shared("weir_leased_units_granted_total", "Units that these leases brought.",
           "shared_store.leased_granted", count<kLeasedGranted>),
    shared("weir_leased_units_returned_total", "Units that mode leased gave back unspent.",
           "shared_store.leased_returned", count<kLeasedReturned>),
    shared("weir_leased_units_expired_total",
           "Units that a lease lost when it expired, neither spent nor given back.",
           "shared_store.leased_expired", count<kLeasedExpired>),
    shared("weir_async_pushes_total", "Keys whose counts mode async sent to the shared store.",
           "shared_store.async_pushes", count<kAsyncPushes>),
    shared("weir_async_units_pushed_total", "Units that mode async sent to the shared store.",
           "shared_store.async_pushed", count<kAsyncPushed>),
    shared("weir_async_batches_from_memory_total", "Batches that mode async decided from its copy.",
           "shared_store.async_from_memory", count<kAsyncFromMemory>),
    shared("weir_async_batches_passed_on_total", "Batches that mode async left to mode strict.",
           "shared_store.async_passed_on", count<kAsyncPassedOn>),
    shared("weir_async_states_merged_total",
           "States of keys that mode async got from the shared store.", "shared_store.async_merged",
           count<kAsyncMerged>),
    shared("weir_async_units_forgotten_total",
           "Units admitted alone, in all modes, that expired or found no room.",
           "shared_store.async_forgotten", count<kAsyncForgotten>),
    shared("weir_async_units_alone_total",
           "Units that this node admitted alone, in all modes, while the shared store was away.",
           "shared_store.async_alone", count<kAsyncAlone>),
    {.name = "weir_store_failures_total",
     .help = "Batches, leases, returns and syncs that the shared store did not carry out, by kind.",
     .json = "shared_store.failures",
     .needs = Needs::kSharedStore,
     .samples = read_store_failures,
     .labels = {{{"kind"}}}},
    {.name = "weir_build_info",
     .help = "Always 1; the version is a label.",
     .samples =
         [](const Figures& figures, MetricSamples& samples) {
           add(samples, {std::string(figures.view.info.version)}, 1);
         },
     .labels = {{{"version"}}}},
    {"weir_uptime_seconds", "Time since the start.", "",
     [](const Figures& figures) { return seconds(figures.now - figures.view.info.started); }},
    {"weir_rules", "Rules in force.", "",
     [](const Figures& figures) { return figures.rules.size(); }},
    {"weir_config_last_reload_successful",
     "1 if the node accepted the configuration that it read last, else 0.", "",
     [](const Figures& figures) { return figures.reload.succeeded; }},
    {"weir_config_last_reload_success_timestamp_seconds",
     "The time at which the node read the configuration in force, in seconds since 1970.", "",
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

Figures figures_of(HttpCore& core, const NodeView& view, Instant now) {
  core.blocks().expire(now);
  return {.view = view,
          .now = now,
          .traffic = view.traffic.summary(now),
          .http = core.node().counts().sum(),
          .node = view.figures(),
          .blocks = core.blocks().size(),
          .blocks_dropped = core.blocks().dropped(),
          .reload = view.reloads.figures(),
          .rules = core.rules().rules(),
          .routes = core.routes().all(),
          .engine = &core.engine()};
}

}  // namespace weir
