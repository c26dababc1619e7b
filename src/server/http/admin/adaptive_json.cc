#include "server/http/admin/adaptive_json.h"

#include <cstddef>

#include "server/http/query.h"

namespace weir {
namespace {

constexpr std::size_t kSwitchesShownMax = 1'000;

void write_fields(JsonWriter& json, const RuleSwitch& last, Instant now) {
  json.key("algorithm").string(algorithm_name(last.active.algorithm));
  json.key("number").number(last.active.number);
  json.key("seconds_ago").seconds(now - last.since);
  json.key("because").string(figures_text(last.why));
}

}  // namespace

void write_following(JsonWriter& json, const RuleSwitches* switches, std::string_view rule,
                     Instant now) {
  json.begin_object();
  if (const auto last = switches == nullptr ? std::nullopt : switches->of(rule)) {
    write_fields(json, *last, now);
  } else {
    json.key("algorithm").string(algorithm_name(ActiveAlgorithm().algorithm));
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
    json.begin_object().key("rule");
    if (rule.empty()) {
      json.null();
    } else {
      json.string(as_utf8(rule));
    }
    write_fields(json, *last, now);
    json.end_object();
  };
  if (switches != nullptr) write({});
  for (const Rule& rule : rules.rules()) {
    if (switches == nullptr || shown == kSwitchesShownMax) break;
    if (is_adaptive(rule)) write(rule.id);
  }
  json.end_array();
}

}  // namespace weir
