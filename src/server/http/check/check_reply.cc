#include "server/http/check/check_reply.h"

namespace weir {

void write_decision_json(TextWriter& writer, std::string_view key_json, const Answer& answer) {
  const Decision& decision = answer.decision;
  writer.put("{\"key\":").text(key_json);
  if (decision.allowed()) {
    writer.put(",\"allowed\":true,\"remaining\":");
  } else {
    writer.put(",\"allowed\":false,\"remaining\":");
  }
  writer.number(decision.remaining);
  writer.put(",\"algorithm\":\"").text(algorithm_name(answer.quota.active()));
  writer.put("\",\"retry_after\":");
  if (decision.verdict == Verdict::kNever) {
    writer.put("null");
  } else {
    writer.seconds(decision.retry_after);
  }
  writer.put(",\"backoff_level\":").number(static_cast<int>(decision.backoff_level));
  writer.put(",\"limit\":").number(decision.limit);
  writer.put(",\"reset_after\":").seconds(decision.reset_after);
  if (answer.is_alone) writer.put(",\"mode\":\"local\"");
  writer.put("}");
}

void add_items(const Asks& asks, std::size_t index, std::vector<RateLimitItem>& items) {
  const Ask& ask = asks.ask(index);
  const Answer& answer = asks.answer(index);
  const bool is_told = ask.rule == nullptr || !ask.rule->shadow;
  if (!is_told || answer.cause == Answer::Cause::kNotCounted) return;
  const Asks::Limits limits = asks.limits(index);
  const RateLimitPolicy only = limit_of(ask, answer).policy;
  if (limits.quotas.empty()) return items.push_back({only, answer.decision});
  for (std::size_t i = 0; i < limits.quotas.size(); ++i) {
    items.push_back({policy_of(only.name, limits.quotas[i], i + 1), limits.decisions[i]});
  }
}

RateLimit limit_of_one(const Asks& asks, std::size_t index, std::vector<RateLimitItem>& items) {
  RateLimit limit = limit_of(asks.ask(index), asks.answer(index));
  if (asks.limits(index).quotas.empty()) return limit;
  items.clear();
  add_items(asks, index, items);
  limit.items = items;
  return limit;
}

RateLimit limit_of_all(const Asks& asks, std::size_t shown, std::vector<RateLimitItem>& items) {
  if (asks.size() == 1) return limit_of_one(asks, shown, items);
  RateLimit limit = limit_of(asks.ask(shown), asks.answer(shown));
  items.clear();
  for (std::size_t i = 0; i < asks.size(); ++i) add_items(asks, i, items);
  if (items.size() > 1) limit.items = items;
  return limit;
}

}  // namespace weir
