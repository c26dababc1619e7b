#include "server/http/admin/explained.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/rules/rule_words.h"
#include "rules/promise.h"
#include "server/http/admin/shared_json.h"

namespace weir {
namespace {

std::string_view cause_name(const Answer& answer) {
  switch (answer.cause) {
    case Answer::Cause::kCounted: return "counter";
    case Answer::Cause::kNotCounted: return "not_counted";
    case Answer::Cause::kDenyList: return "deny_list";
    case Answer::Cause::kMissingKey: return "missing_key";
    case Answer::Cause::kBlocked: return "blocked";
    case Answer::Cause::kUnderWay: return "under_way";
    case Answer::Cause::kStoreFailed: return "store_failure";
  }
  return "";
}

// Why the rule counts nothing.
std::string_view why_uncounted(const Ask& ask, Instant wall_time) {
  const Rule& rule = *ask.rule;
  const bool limits =
      rule.effect == Rule::Effect::kLimit || rule.effect == Rule::Effect::kConcurrency;
  if (!rule.enabled) return "it is disabled";
  if (!rule.in_force(wall_time)) return "it is outside its hours";
  return limits ? "the key is on its allow list" : "it limits nothing";
}

// Until the ask fits, even if shadow lets it pass; nullopt if it never fits.
std::optional<Duration> wait_to_fit(const Answer& answer) {
  if (!answer.over) return Duration{0};
  const Decision& decision = answer.decision;
  if (decision.retry_after <= Duration{0}) return std::nullopt;
  return std::max(decision.retry_after, decision.more_after);
}

// Writes whether the limits are lower now, if they ever may be.
void write_surge(JsonWriter& json, const Rule& rule, const Engine& engine) {
  if (rule.surge_percent == 100) return;
  json.key("on_surge").begin_object().field("limit_percent", rule.surge_percent);
  json.field("active", limit_percent(rule, engine) < 100).end_object();
}

// Where the counter is, on a node of a fleet, and what replaces it while Redis is away.
void write_scope(JsonWriter& json, const Ask& ask, const Answer& answer, const Engine& engine) {
  const Mode mode = engine.mode_for(ask.rule->mode);
  json.field("mode", mode_name(mode));
  if (engine.fleet() != nullptr && answer.cause == Answer::Cause::kCounted) {
    json.field("scope", answer.is_alone || mode == Mode::kLocal ? "node" : "fleet");
  }
  if (!answer.is_alone) return;
  const auto choice = static_cast<std::size_t>(ask.rule->on_store_failure);
  json.field("on_store_failure", kOnStoreFailureNames[choice]);
}

// Writes how far the limit may be off at worst while Redis answers, and how far over it a key with
// so much left may be now. If this node decides alone, the units it has left do not lower that.
void write_promise(JsonWriter& json, const Ask& ask, const Answer& answer, const Quota& quota,
                   std::int64_t left, const ExplainedWith& with) {
  if (quota.is_never_over()) json.field("bound", "never_over");
  if (!why_unbounded(*ask.rule).empty() || ask.is_shadow()) return;
  SharingFacts facts = sharing_of(with.engine, *ask.rule, quota, with.now);
  facts.is_whole = facts.is_whole && !answer.is_alone;
  OverNow over = over_now_of(with.engine, *ask.rule, quota, facts);
  if (answer.is_alone) return write_over_now(json, over);
  const Promise promise = promise_of(quota, with.engine.mode_for(ask.rule->mode), facts);
  json.key("promise").begin_object().field("over_max", promise.over);
  json.field("under_max", promise.under).field("nodes", facts.nodes);
  if (const auto precise = precise_promise_of(with.engine, *ask.rule, quota)) {
    json.key("precise").begin_object().field("over_max", precise->over);
    json.field("under_max", precise->under).field("within_seconds", precise_grain(quota));
    json.end_object();
  }
  json.end_object();
  if (over.units) over.units = std::max<std::int64_t>(0, *over.units - left);
  write_over_now(json, over);
}

// Writes each of several limits. The other fields are about the tightest one.
void write_limits(JsonWriter& json, const Ask& ask, const Answer& answer,
                  const Asks::Limits& limits, const ExplainedWith& with) {
  if (limits.quotas.empty()) return;
  json.key("limits").begin_array();
  for (std::size_t i = 0; i < limits.quotas.size(); ++i) {
    const Quota& quota = limits.quotas[i];
    json.begin_object().field("algorithm", algorithm_name(quota.algorithm()));
    write_window(json.field("limit", limits.decisions[i].limit), quota);
    json.field("remaining", limits.decisions[i].remaining);
    json.field("reset_after", limits.decisions[i].reset_after);
    write_promise(json, ask, answer, quota, limits.decisions[i].remaining, with);
    json.end_object();
  }
  json.end_array();
}

// Writes the share of the key's requests that is dropped now, however much its counter has left.
void write_share(JsonWriter& json, const Ask& ask, const Answer& answer) {
  if (!ask.rule->is_proportional) return;
  const std::int64_t within = ask.is_shadow() ? answer.offered : answer.quota.limit();
  const std::int64_t above = std::max<std::int64_t>(0, answer.offered - within);
  json.field("enforce", "proportional").field("offered", answer.offered);
  json.field("drops_percent", 100 * above / std::max<std::int64_t>(1, answer.offered));
}

// Writes the units that work under way holds next to the counter.
void write_held(JsonWriter& json, const Asks& asks, std::size_t index, Instant now) {
  if (asks.ask(index).rule->holds_max == 0) return;
  const auto held = asks.holding().held(index, now);
  json.key("held").begin_object().field("units", held.units).field("holds", held.holds);
  if (held.holds > 0) json.field("lapses_after", held.lapses_after);
  json.end_object();
}

}  // namespace

bool is_unseen(const Ask& ask, const Answer& answer, Instant wall_time) {
  return answer.cause == Answer::Cause::kNotCounted && ask.rule->in_force(wall_time) &&
         ask.rule->effect == Rule::Effect::kConcurrency && !ask.is_on_allow_list();
}

void write_explained(JsonWriter& json, const Asks& asks, std::size_t index,
                     const ExplainedWith& with) {
  const Ask& ask = asks.ask(index);
  const Answer& answer = asks.answer(index);
  json.begin_object().field("rule", ask.rule->id).field("key", ask.key);
  const bool lacks = index < with.missing.size() && !with.missing[index].empty();
  if (lacks) json.key("missing").raw(with.missing[index]);
  if (ask.rule->tiers.contains(ask.tier)) json.field("tier", ask.tier);
  const auto several = asks.limits(index).quotas;
  write_own_terms(json, ask, with.engine, several.empty() ? std::span(&answer.quota, 1) : several);
  if (ask.rule->effect == Rule::Effect::kConcurrency) json.field("of", "concurrency");
  json.field("cost", ask.cost).field("enabled", ask.rule->enabled).field("shadow", ask.is_shadow());
  if (ask.rule->enforced_percent < 100) json.field("enforce_percent", ask.rule->enforced_percent);
  write_share(json, ask, answer);
  json.field("decided_by", cause_name(answer));
  const Instant wall_time = with.engine.wall_time(with.now);
  if (is_unseen(ask, answer, wall_time)) {
    json.field("because", "requests under way are counted as they pass, and explain sees none");
    json.field("would", "unknown").field("limit", answer.quota.limit()).end_object();
    return;
  }
  if (answer.cause == Answer::Cause::kNotCounted) {
    json.field("because", why_uncounted(ask, wall_time));
  } else if (ask.rule->response && ask.rule->response->reserved > 0) {
    json.field("because", "explain sees nothing of what requests under way reserve");
  }
  json.field("would", answer.allowed() ? "allow" : "deny").field("over", answer.over);
  write_scope(json, ask, answer, with.engine);
  const bool is_of_slots = ask.rule->has_slots();
  if (!is_of_slots) json.field("algorithm", algorithm_name(answer.quota.algorithm()));
  if (answer.quota.switches()) {
    write_following(json.key("following"), with.switches, ask.rule->id, with.now);
  }
  json.field("limit", answer.decision.limit);
  if (!is_of_slots) write_window(json, answer.quota);
  if (answer.decision.limit > answer.quota.limit()) {
    json.field("per_window", answer.quota.limit());  // `limit` is what may come at once
  }
  json.field("remaining", answer.decision.remaining);
  json.field("retry_after", wait_to_fit(answer));
  json.field("reset_after", answer.decision.reset_after);
  if (ask.rule->effect == Rule::Effect::kLimit) {
    write_promise(json, ask, answer, answer.quota, answer.decision.remaining, with);
  }
  write_limits(json, ask, answer, asks.limits(index), with);
  write_held(json, asks, index, with.now);
  write_surge(json, *ask.rule, with.engine);
  json.end_object();
}

}  // namespace weir
