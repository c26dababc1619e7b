#include "gate/gate.h"

namespace weir {
namespace {

std::string_view name_of(const Ask& ask) {
  return ask.rule == nullptr ? "default" : std::string_view(ask.rule->id);
}

// The ask that the client should learn about; never one of a rule in shadow.
std::optional<std::size_t> most_pressing(const Asks& asks) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const Answer& answer = asks.answer(i);
    if (asks.ask(i).is_shadow() || answer.cause == Answer::Cause::kNotCounted) continue;
    if (!found || presses_more(answer.decision, asks.answer(*found).decision)) found = i;
  }
  return found;
}

}  // namespace

Problem problem_of(const GateRefusal& refusal) {
  if (!refusal.repeated_header.empty()) return repeated_field(refusal.repeated_header);
  return http_problem(refusal.status, "More than 16 limits apply at once.");
}

// An item for each limit of the ask, unless the rule is in shadow or nothing is counted.
void GateVoice::add_items(const Asks& asks, std::size_t index) {
  const Ask& ask = asks.ask(index);
  const Answer& answer = asks.answer(index);
  if (ask.is_shadow() || answer.cause == Answer::Cause::kNotCounted) return;
  const Asks::Limits limits = asks.limits(index);
  const std::string_view name = name_of(ask);
  if (limits.quotas.empty()) {
    return items_.push_back({policy_of(name, answer.quota), answer.decision});
  }
  for (std::size_t i = 0; i < limits.quotas.size(); ++i) {
    items_.push_back({policy_of(name, limits.quotas[i], i + 1), limits.decisions[i]});
  }
}

const RateLimit& GateVoice::say_one(const Asks& asks, std::size_t index, Instant now) {
  const Answer& answer = asks.answer(index);
  RateLimit& limit = said_.limit;
  limit.policy = policy_of(name_of(asks.ask(index)), answer.quota);
  limit.decision = answer.decision;
  limit.is_alone = answer.is_alone;
  limit.wall_time = engine_.wall_time(now);
  items_.clear();
  if (!asks.limits(index).quotas.empty()) add_items(asks, index);
  limit.items = items_;
  return limit;
}

const GateAnswer& GateVoice::say(const Asks& asks, Instant now) {
  const auto shown = most_pressing(asks);
  said_.ask = shown ? &asks.ask(*shown) : nullptr;
  if (!shown) return said_;
  said_.answer = &asks.answer(*shown);
  say_one(asks, *shown, now);
  if (asks.size() == 1) return said_;
  items_.clear();
  for (std::size_t i = 0; i < asks.size(); ++i) add_items(asks, i);
  said_.limit.items = std::span(items_).first(items_.size() > 1 ? items_.size() : 0);
  return said_;
}

}  // namespace weir
