// The answers of Asks that need no counter of a store.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "engine/asks.h"

namespace weir {
namespace {

// How soon to ask again where nobody knows better.
constexpr Duration kRetry = std::chrono::seconds(1);

// The longest block of the keys that the ask may have, and of its client. `name`: hashed by the
// engine's hasher.
std::optional<Instant> longest_block(const Engine& engine, const BlockList& blocks, const Ask& ask,
                                     const HashedName& name, Instant now) {
  const std::string_view rule = ask.rule == nullptr ? std::string_view() : ask.rule->id;
  const bool is_hashed =
      &engine.hasher() == &blocks.hasher() && ask.key.size() <= BlockList::kKeyMax;
  if (ask.choices == nullptr) {
    return is_hashed ? blocks.until(name, rule, ask.key, ask.client, now)
                     : blocks.until(rule, ask.key, ask.client, now);
  }
  std::optional<Instant> until;
  for (const std::string& key : ask.choices->keys) {
    until = std::max(until, blocks.until(rule, key, ask.client, now));
  }
  return until;
}

// Denied, however long the client waits.
Answer never(Answer::Cause cause, const Quota& quota) {
  return {.cause = cause,
          .decision = {.verdict = Verdict::kNever, .limit = quota.capacity()},
          .quota = quota};
}

}  // namespace

Decision Asks::refused(const Quota& quota) {
  return {.verdict = Verdict::kDenied,
          .limit = quota.capacity(),
          .retry_after = kRetry,
          .reset_after = kRetry,
          .more_after = kRetry};
}

Decision Asks::untouched(const Quota& quota) {
  return {.limit = quota.capacity(), .remaining = quota.capacity()};
}

Decision Asks::blocked_until(Instant until, const Quota& quota, Instant now) {
  return {.verdict = Verdict::kDenied,
          .limit = quota.capacity(),
          .retry_after = until - now,
          .reset_after = until - now,
          .more_after = until - now};
}

// What the rule says without counting and without blocks. Nothing if it counts.
std::optional<Answer> Asks::settle_by_rule(const Item& item, Instant now) const {
  const Ask& ask = item.ask;
  const Quota& quota = item.limits.front();
  const Rule::Effect effect = ask.rule->effect;
  const bool limits = effect == Rule::Effect::kLimit || effect == Rule::Effect::kConcurrency;
  if (limits && ask.rule->in_force(engine_.wall_time(now))) {
    if (ask.is_on_deny_list()) return never(Answer::Cause::kDenyList, quota);
    if (!ask.is_on_allow_list()) {
      if (ask.key_state != Ask::KeyState::kRefused) return std::nullopt;
      return never(Answer::Cause::kMissingKey, quota);
    }
  }
  return Answer{.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
}

// Answers what needs no counter. True if it did.
bool Asks::settle_uncounted(Item& item, Instant now) const {
  const Quota& quota = item.limits.front();
  item.answer = {.quota = quota};
  if (item.ask.rule != nullptr) {
    if (auto answer = settle_by_rule(item, now)) {
      item.answer = *answer;
      return true;
    }
  }
  const bool may_be_blocked = !blocks_.empty() && operation_ != Operation::kReset;
  const auto until =
      may_be_blocked ? longest_block(engine_, blocks_, item.ask, item.name, now) : std::nullopt;
  if (!until) return settle_under_way(item);
  item.answer.cause = Answer::Cause::kBlocked;
  item.answer.decision = blocked_until(*until, quota, now);
  return true;
}

// Only a gateway knows how many requests are under way. Others learn nothing of it.
bool Asks::settle_under_way(Item& item) const {
  const Rule* const rule = item.ask.rule;
  if (rule == nullptr || rule->effect != Rule::Effect::kConcurrency) return false;
  const std::int64_t under_way = is_hit(operation_) ? item.ask.cost : 0;
  Answer& answer = item.answer;
  answer.cause = under_way == 0 ? Answer::Cause::kNotCounted : Answer::Cause::kUnderWay;
  answer.decision = untouched(answer.quota);
  answer.decision.remaining -= under_way;
  if (answer.decision.remaining < 0) answer.decision = refused(answer.quota);
  return true;
}

// What those before it may yet count is not this one's. They will be known soon. One request
// holds all of a limit that is lower than what each reserves.
void Asks::leave_units(Item& item) {
  Answer& answer = item.answer;
  const bool is_counted = answer.allowed() && answer.cause == Answer::Cause::kCounted;
  if (!is_counted || item.ask.under_way == 0) return;
  const Rule* const rule = item.ask.rule;
  const std::int64_t reserved = rule != nullptr && rule->response ? rule->response->reserved : 1;
  const std::int64_t each = std::max<std::int64_t>(1, std::min(reserved, answer.decision.limit));
  if (answer.decision.remaining / each >= item.ask.under_way) return;
  answer.cause = Answer::Cause::kUnderWay;
  answer.decision = refused(answer.quota);
}

}  // namespace weir
