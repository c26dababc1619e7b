// Shared by several pages: JSON of busy keys, events, and the algorithms that rules follow.
//
// Thread rule: any thread. Tested by http_keys_test.cc and http_pages_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/ask.h"
#include "engine/asks/error_bar.h"
#include "engine/engine.h"
#include "engine/switching/rule_switches.h"
#include "observe/keys/key_report.h"
#include "observe/rule_hold.h"
#include "observe/unusual/traffic_events.h"
#include "proto/json_writer.h"
#include "rules/promise.h"
#include "rules/rule_set.h"
#include "weir/time.h"

namespace weir {

// The facts about the nodes that share the rule's quota with this one.
inline SharingFacts sharing_of(const Engine& engine, const Rule& rule, const Quota& quota,
                               Instant now) {
  if (engine.fleet() == nullptr) return {};
  return engine.fleet_for(engine.mode_for(rule.mode)).sharing(quota, now);
}

// The promise of the rule's precise keys; nullopt: the rule has none.
inline std::optional<Promise> precise_promise_of(const Engine& engine, const Rule& rule,
                                                 const Quota& quota) {
  const bool is_local = engine.mode_for(rule.mode) == Mode::kLocal;
  const bool may_be = is_local && engine.may_be_precise != nullptr && engine.may_be_precise(quota);
  return may_be ? std::optional(precise_promise_of(quota)) : std::nullopt;
}

// By how much the sharing of a rule's limit may exceed it now (rules/promise.h).
struct OverNow {
  bool is_shared = false;               // else nothing else is set
  std::optional<std::int64_t> units{};  // of one key; nullopt: unknown
  std::int64_t limit = 1;
  std::string because{};  // why the number is unusual, as a clause; empty: it is usual

  std::optional<double> percent() const;
};
OverNow over_now_of(const Engine& engine, const Rule& rule, const Quota& quota,
                    const SharingFacts& facts);
// For a rule with several limits: the limit that may be exceeded most.
OverNow over_now_of(const Engine& engine, const Rule& rule, Instant now);
// Writes these fields, if the rule is shared.
void write_over_now(JsonWriter& json, const OverNow& over);

// The length of the quota's windows; for calendar windows also which they are.
void write_window(JsonWriter& json, const Quota& quota);

// The object behind "misjudged": the part of sliding windows' decisions that are, and its error.
void write_misjudged(JsonWriter& json, const ErrorBar::Tally& tally);

// The key's values in place of the rule's own limits: an override, or what has an effect here of
// its row in the table of tenants. `limits`: those in force for the ask.
void write_own_terms(JsonWriter& json, const Ask& ask, const Engine& engine,
                     std::span<const Quota> limits);

// A text that may be missing, as a JSON value or null.
inline std::optional<std::string_view> or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// The UTC time "2026-11-22T21:40:03Z" of seconds since 1970.
std::string utc_text(std::int64_t second);

// Begins an object with the hash of a busy key, its text if known, and how often the key came. The
// caller may add fields, and ends the object.
void write_key_begin(JsonWriter& json, const KeyEstimate& key);

// The fields of an event of unusual traffic, without the braces: for /admin/events and the webhook.
void write_event(JsonWriter& json, const TrafficEvent& event);

// The object behind "following": the algorithm, and if the rule has ever switched, the switch's
// number, how long ago it was, and why. `switches` may be null.
void write_following(JsonWriter& json, const RuleSwitches* switches, std::string_view rule,
                     Instant now);

// The array behind "switches": the last switch of each of these rules that has ever switched, and
// the last switch of checks without a rule.
void write_switches(JsonWriter& json, const RuleSwitches* switches, const RuleSet& rules,
                    Instant now);

// An object: the nodes on which rules hold that somebody has changed by request.
void write_hold(JsonWriter& json, const RuleHold& hold);

}  // namespace weir
