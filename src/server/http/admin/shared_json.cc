#include "server/http/admin/shared_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ctime>

#include "base/duration_text.h"
#include "config/rules/rule_words.h"
#include "server/http/query.h"

namespace weir {
namespace {

// More digits of a rate help nobody.
double tenths(double value) { return std::round(value * 10) / 10; }

constexpr std::size_t kSwitchesShownMax = 1'000;

void write_fields(JsonWriter& json, const RuleSwitch& last, Instant now) {
  json.field("algorithm", algorithm_name(last.active.algorithm));
  json.field("number", last.active.number).field("seconds_ago", now - last.since);
  json.field("because", figures_text(last.why));
}

// Why more than usual may be admitted; empty: no more is.
std::string why_apart(const SharingFacts& facts) {
  if (facts.is_whole) return {};
  if (facts.apart > Duration{0}) {
    return "nodes counted alone until lately, which matters for " + rounded_duration(facts.apart) +
           " more";
  }
  return "a node is silent or without Redis, and may count alone";
}

}  // namespace

OverNow over_now_of(const Engine& engine, const Rule& rule, const Quota& quota,
                    const SharingFacts& facts) {
  const Mode mode = engine.mode_for(rule.mode);
  const bool is_shared = engine.fleet() != nullptr && mode != Mode::kLocal &&
                         rule.effect == Rule::Effect::kLimit && !rule.is_proportional &&
                         !quota.is_never_over() && why_unbounded(rule).empty();
  if (!is_shared) return {};
  const auto units = over_now(quota, mode, rule.on_store_failure, facts);
  return {.is_shared = true,
          .units = units,
          .limit = std::max<std::int64_t>(1, quota.limit()),
          .because = units == 0 ? "" : why_apart(facts)};
}

OverNow over_now_of(const Engine& engine, const Rule& rule, Instant now) {
  OverNow most;
  for (const Quota& quota : rule.own_limits()) {
    const OverNow over = over_now_of(engine, rule, quota, sharing_of(engine, rule, quota, now));
    if (!over.is_shared || !over.units) return over;
    if (!(over.percent() < most.percent())) most = over;
  }
  return most;
}

void write_window(JsonWriter& json, const Quota& quota) {
  json.field("window_seconds", quota.window());
  if (quota.is_by_calendar()) json.field("calendar", window_text(quota));
}

std::optional<double> OverNow::percent() const {
  if (!units) return std::nullopt;
  return tenths(100.0 * static_cast<double>(*units) / static_cast<double>(limit));
}

void write_over_now(JsonWriter& json, const OverNow& over) {
  if (!over.is_shared) return;
  json.field("over_now_max", over.units).field("over_now_percent", over.percent());
  if (!over.because.empty()) json.field("over_now_because", over.because);
}

void write_misjudged(JsonWriter& json, const ErrorBar::Tally& tally) {
  const ErrorBar::Estimate estimate = tally.sums.estimate();
  json.key("misjudged").begin_object().field("judged", tally.requests);
  json.field("denied_early", tally.denied_early).field("admitted_over", tally.admitted_over);
  json.field("share", estimate.share).field("share_min", estimate.least);
  json.field("share_max", estimate.most).field("confidence", 0.95).end_object();
}

void write_key_begin(JsonWriter& json, const KeyEstimate& key) {
  json.begin_object().field("hash", hash_text(key.hash));
  if (!key.text.empty()) json.field("key", key.text);
  json.field("count", key.low);
}

std::string utc_text(std::int64_t second) {
  const std::time_t epoch_s = second;
  std::tm date{};
  ::gmtime_r(&epoch_s, &date);
  std::array<char, 32> text{};
  const auto size = std::strftime(text.data(), text.size(), "%FT%TZ", &date);
  return {text.data(), size};
}

void write_event(JsonWriter& json, const TrafficEvent& event) {
  constexpr std::array<std::string_view, 5> kKinds = {"began", "ended", "rollout", "limit",
                                                      "tenants"};
  json.field("number", event.number).field("event", kKinds[static_cast<std::size_t>(event.kind)]);
  json.field("rule", or_null(event.rule));
  if (!event.text.empty()) {
    json.field("at", utc_text(event.at)).field("text", as_utf8(event.text));
    if (event.percent == 0) return;
    write_window(json.field("percent", event.percent).field("limit", event.limit), event.quota);
  } else {
    json.field("since", utc_text(event.since)).field("at", utc_text(event.at));
    json.field("requests_per_second", tenths(event.rate));
    json.key("band").begin_object().field("low", tenths(event.band.low));
    json.field("median", tenths(event.band.median));
    json.field("high", tenths(event.band.high)).end_object();
    json.field("times_high", tenths(event.rate / event.band.high));
  }
  json.key("keys").begin_array();
  for (const KeyEstimate& key : event.keys) {
    write_key_begin(json, key);
    json.end_object();
  }
  json.end_array();
}

void write_following(JsonWriter& json, const RuleSwitches* switches, std::string_view rule,
                     Instant now) {
  json.begin_object();
  if (const auto last = switches == nullptr ? std::nullopt : switches->of(rule)) {
    write_fields(json, *last, now);
  } else {
    json.field("algorithm", algorithm_name(ActiveAlgorithm().algorithm));
  }
  json.end_object();
}

void write_switches(JsonWriter& json, const RuleSwitches* switches, const RuleSet& rules,
                    Instant now) {
  json.begin_array();
  std::size_t shown = 0;
  const auto write = [&](std::string_view rule) {
    const auto last = switches->of(rule);
    if (!last) return;
    ++shown;
    json.begin_object().field("rule", or_null(rule));
    write_fields(json, *last, now);
    json.end_object();
  };
  if (switches != nullptr) write({});
  for (const Rule& rule : rules.rules()) {
    if (switches == nullptr || shown == kSwitchesShownMax) break;
    if (may_switch(rule)) write(rule.id);
  }
  json.end_array();
}

void write_hold(JsonWriter& json, const RuleHold& hold) {
  const auto runs = std::ranges::count(hold.nodes, std::string(), &RuleHold::Node::why_not);
  json.begin_object().field("version", hold.version).field("told", hold.is_told);
  json.field("runs", runs).key("nodes").begin_array();
  for (const RuleHold::Node& node : hold.nodes) {
    const std::string why_not = as_utf8(node.why_not);
    json.begin_object().field("node", as_utf8(node.name)).field("runs", why_not.empty());
    json.field("why_not", or_null(why_not)).end_object();
  }
  json.end_array().end_object();
}

}  // namespace weir
