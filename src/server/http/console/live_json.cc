#include "server/http/console/live_json.h"

#include <algorithm>
#include <unordered_map>

#include "observe/shared_store.h"
#include "proto/json_writer.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr auto kSeconds = static_cast<std::int64_t>(TrafficWindow::kSeconds);
constexpr std::size_t kRulesCountedMax = 1'000;             // a microsecond each
constexpr Duration kClocksApart = std::chrono::seconds(2);  // trips explain less

double share(const TrafficCounts& counts) {
  return counts.requests == 0
             ? 0
             : static_cast<double>(counts.denied) / static_cast<double>(counts.requests);
}

void write_counts(JsonWriter& json, const TrafficCounts& counts) {
  json.field("requests", counts.requests).field("denied", counts.denied);
  if (counts.shadow > 0) json.field("shadow", counts.shadow);
}

void write_latency(JsonWriter& json, const LatencyFigures& latency) {
  if (latency.total() == 0) return;
  json.field("p50", latency.quantile(0.5)).field("p99", latency.quantile(0.99));
}

void write_rates(JsonWriter& json, const TrafficWindow& window, std::int64_t known) {
  const TrafficCounts& second = window.second(0).all;
  write_counts(json, second);
  json.field("deny_rate", share(second));
  json.field("burst_ratio", rates_of(window, known).burst_ratio);
}

// About how many different keys came in this minute and the last.
std::uint64_t keys_of(const NodeView& view, const LivePicture& picture) {
  const RuleCounts& counts = view.traffic.rules();
  const auto& rules = picture.rules->rules();
  std::uint64_t sum = counts.keys(picture.ruleless, picture.now);
  for (std::size_t i = 0; i < std::min(rules.size(), kRulesCountedMax); ++i) {
    sum += counts.keys(rules[i].number, picture.now);
  }
  return sum;
}

void write_here(JsonWriter& json, const NodeView& view, const LivePicture& picture,
                const NodeFigures& figures) {
  json.key("here").begin_object();
  const TrafficSnapshot& traffic = *picture.traffic;
  write_rates(json, traffic.own.window, std::min(traffic.seconds_running, kSeconds));
  json.field("keys", keys_of(view, picture)).field("max_keys", view.info.max_keys);
  write_latency(json, picture.latency);
  json.field("connections", figures.listeners.open).field("buffered", figures.listeners.buffered);
  json.field("evicted", figures.store.evictions).end_object();
}

void write_redis(JsonWriter& json, const LivePicture& picture,
                 const std::optional<SharedStoreFigures>& shared) {
  json.key("redis").begin_object();
  if (!shared) {
    json.field("state", "disabled");
  } else {
    json.field("state", shared->is_healthy ? "up" : "down");
    json.field("since", picture.wall(shared->since)).field("mode", shared->mode);
    if (!shared->reason.empty()) json.field("reason", shared->reason);
  }
  json.end_object();
}

// `id`: empty for checks without a rule.
void write_rule(JsonWriter& json, const NodeView& view, const LivePicture& picture,
                const Rule* rule, RuleNumber number) {
  const std::string_view id = rule == nullptr ? std::string_view() : rule->id;
  const bool adapts = rule != nullptr && may_switch(*rule);
  const RuleSwitches* const switches = view.switches;
  const auto last = adapts && switches != nullptr ? switches->of(id) : std::nullopt;
  const Algorithm active = last ? last->active.algorithm : ActiveAlgorithm().algorithm;
  json.begin_object().field("rule", id);
  const TrafficSnapshot& traffic = *picture.traffic;
  write_counts(json, traffic.sum.second(0).of(number));
  json.field("burst_ratio", rates_of(traffic.sum, traffic.known_seconds, number).burst_ratio);
  if (rule != nullptr) {
    if (rule->effect == Rule::Effect::kConcurrency) {
      json.field("of", "concurrency");
    } else {
      json.field("algorithm", algorithm_name(adapts ? active : rule->quota.algorithm()));
    }
    json.field("adaptive", adapts);
  }
  if (last) json.field("switched", picture.wall(last->since));
  json.end_object();
}

std::unordered_map<RuleNumber, const Rule*> rules_by_number(const LivePicture& picture) {
  std::unordered_map<RuleNumber, const Rule*> found;
  for (const Rule& rule : picture.rules->rules()) found.emplace(rule.number, &rule);
  return found;
}

// The rules that had requests in the last ten seconds.
void write_rules(JsonWriter& json, const NodeView& view, const LivePicture& picture) {
  const auto by_number = rules_by_number(picture);
  json.key("rules").begin_array();
  for (const RuleNumber number : busiest_rules(picture.traffic->sum, LiveFeed::kRulesMax)) {
    const auto found = by_number.find(number);
    const Rule* const rule = found == by_number.end() ? nullptr : found->second;
    if (rule != nullptr || number == picture.ruleless) {
      write_rule(json, view, picture, rule, number);
    }
  }
  json.end_array();
}

// Writes the sums of a rule over the whole span, and when it denied.
void write_sums(JsonWriter& json, const NodeView& view, const LivePicture& picture,
                const TrafficHistory& history, const DenyingRules& sums, const RuleTraffic& rule) {
  json.begin_object().field("rule", view.traffic.rules().id_of(rule.rule));
  write_counts(json, rule.counts);
  if (const auto found = sums.apart.find(rule.rule); found != sums.apart.end()) {
    json.field("denied_apart", found->second);
  }
  if (const auto run = history.run(rule.rule)) {
    json.field("denying_since", picture.wall(run->first));
    if (run->may_be_older) json.field("denying_before", true);
    json.field("last_denied", picture.wall(run->last));
  }
  json.end_object();
}

// A node's word on itself, without what it does not know, and what strangers need not know.
void write_about(JsonWriter& json, const NodeAbout& about, const LivePicture& picture) {
  if (!about.title.empty()) json.field("title", about.title);
  if (!about.address.empty() && !picture.is_public) json.field("address", about.address);
  if (!about.version.empty()) json.field("version", about.version);
}

void write_state(JsonWriter& json, const NodeAbout& about, const LivePicture& picture) {
  write_about(json, about, picture);
  if (!about.mode.empty()) json.field("mode", about.mode);
  if (about.leases) json.field("leases", *about.leases);
  if (about.memory > 0) json.field("memory", about.memory);
  if (about.beat > Duration::zero()) {
    json.field("redis_ms", std::chrono::duration<double, std::milli>(about.beat).count());
  }
  if (about.clock_lead >= kClocksApart || about.clock_lead <= -kClocksApart) {
    json.field("clock_ahead", about.clock_lead);
  }
  if (about.since == Instant{}) return;  // it shares nothing
  json.field("degraded", as_utf8(about.degraded)).field("since", picture.wall(about.since));
}

// Null: the node has not said anything yet, or has another version.
const NodeAbout* about_other(const std::string& name, const NodeFigures& figures) {
  if (!figures.shared) return nullptr;
  const auto found = std::ranges::find(figures.shared->others, name, &NodeAbout::id);
  return found == figures.shared->others.end() ? nullptr : &*found;
}

void write_nodes(JsonWriter& json, const NodeView& view, const LivePicture& picture,
                 const NodeFigures& figures) {
  const std::string& own = view.info.node;
  json.key("nodes").begin_array();
  const TrafficSnapshot& traffic = *picture.traffic;
  // A large fleet is heard in groups: then this shows this node alone.
  const auto nodes =
      traffic.large ? std::span(&traffic.own, 1) : std::span<const NodeTraffic>(traffic.nodes);
  for (const NodeTraffic& one : nodes) {
    const bool here = one.name.empty() || one.name == own;
    json.begin_object().field("name", here ? own : one.name);
    json.field("here", here).field("age", one.silent_seconds);
    write_counts(json, one.window.second(0).all);
    const NodeAbout* const about = here ? &figures.about : about_other(one.name, figures);
    if (about != nullptr) write_state(json, *about, picture);
    const auto apart = picture.apart.find(here ? own : one.name);
    if (apart != picture.apart.end()) json.field("apart", as_utf8(apart->second));
    json.end_object();
  }
  for (const FleetRoster::Absent& one : picture.absent) {
    json.begin_object().field("name", one.name).field("age", picture.now - one.seen);
    write_about(json.field("gone", one.is_gone), one.about, picture);
    json.end_object();
  }
  json.end_array();
}

void write_events(JsonWriter& json, const std::deque<LiveEvent>& events) {
  json.key("events").begin_array();
  for (const LiveEvent& event : events) {
    json.begin_object().field("id", event.id).field("t", event.at);
    json.field("kind", event.kind).field("rule", event.rule).field("text", event.text).end_object();
  }
  json.end_array();
}

void begin_history(JsonWriter& json, const LivePicture& picture, const TrafficHistory::Span& found,
                   std::chrono::seconds span) {
  const bool is_alone = picture.traffic->scope == TrafficSnapshot::Scope::kNode;
  json.begin_object().field("span", span.count()).field("step", found.step);
  json.field("scope", is_alone ? "node" : "fleet");
  json.key("points").begin_array();
}

void write_point(JsonWriter& json, const LivePicture& picture, const TrafficHistory::Step& step,
                 const TrafficCounts& counts) {
  json.begin_object().field("t", picture.wall(step.end)).field("seconds", step.seconds);
  json.field("nodes", step.nodes);
  if (step.is_alone && picture.figures->shared) json.field("alone", true);
  write_counts(json, counts);
  write_latency(json, step.latency);
  json.end_object();
}

}  // namespace

std::string live_json(const NodeView& view, const LivePicture& picture,
                      const std::deque<LiveEvent>& events) {
  const NodeFigures& figures = *picture.figures;
  const ServerInfo& info = view.info;
  JsonWriter json;
  json.begin_object().field("t", picture.at).field("version", info.version);
  json.field("node", view.info.node).field("uptime", picture.now - info.started);
  json.field("rules_version", picture.rules_version);
  json.key("fleet").begin_object().field("nodes", picture.traffic->node_count());
  json.field("t", picture.wall_end(picture.traffic->newest));
  json.field("alone", picture.traffic->scope == TrafficSnapshot::Scope::kNode);
  write_rates(json, picture.traffic->sum, picture.traffic->known_seconds);
  json.end_object();
  write_here(json, view, picture, figures);
  write_redis(json, picture, figures.shared);
  write_rules(json, view, picture);
  write_nodes(json, view, picture, figures);
  write_events(json, events);
  json.end_object();
  return json.text();
}

std::string history_json(const NodeView& view, const LivePicture& picture,
                         const TrafficHistory& history, std::chrono::seconds span) {
  const auto found = history.last(span);
  JsonWriter json;
  begin_history(json, picture, found, span);
  for (const auto* step : found.steps) write_point(json, picture, *step, step->counts.all);
  json.end_array();
  const auto denying = rules_of(found);
  json.key("rules").begin_array();
  for (const RuleTraffic& one : denying.rules) {
    write_sums(json, view, picture, history, denying, one);
  }
  json.end_array().key("others").begin_object();
  write_counts(json, denying.others);
  json.end_object().end_object();
  return json.text();
}

// A step in which the rule may be among the others has no value.
std::string history_json(const LivePicture& picture, const TrafficHistory& history,
                         std::chrono::seconds span, RuleNumber rule) {
  const auto found = history.last(span);
  JsonWriter json;
  begin_history(json, picture, found, span);
  for (const auto* step : found.steps) {
    const TrafficCounts counts = step->counts.of(rule);
    if (counts.requests > 0 || step->others.requests == 0) {
      write_point(json, picture, *step, counts);
    }
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace weir
