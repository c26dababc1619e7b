// What Asks answers without a counter of a store.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "engine/asks.h"

namespace weir {
namespace {

// The longest block of the keys that the ask may have.
std::optional<Instant> longest_block(const BlockList& blocks, const Ask& ask, Instant now) {
  if (ask.choices == nullptr) return blocks.until(ask.rule->id, ask.key, now);
  std::optional<Instant> until;
  for (const std::string& key : ask.choices->keys) {
    until = std::max(until, blocks.until(ask.rule->id, key, now));
  }
  return until;
}

// How soon to ask again where nobody knows better.
constexpr Duration kRetry = std::chrono::seconds(1);

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

// Answers what needs no counter. True if it did.
bool Asks::settle_uncounted(Item& item, Instant now) const {
  const Ask& ask = item.ask;
  const Quota& quota = item.limits.front();
  Answer& answer = item.answer;
  answer = {.quota = quota};
  if (ask.rule == nullptr) return false;
  const Rule& rule = *ask.rule;
  const bool limits =
      rule.effect == Rule::Effect::kLimit || rule.effect == Rule::Effect::kConcurrency;
  if (!limits || !rule.in_force(engine_.wall_time(now))) {
    answer = {.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
    return true;
  }
  if (ask.is_on_deny_list()) {
    answer.cause = Answer::Cause::kDenyList;
    answer.decision = {.verdict = Verdict::kNever, .limit = quota.capacity()};
    return true;
  }
  if (ask.is_on_allow_list()) {
    answer = {.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
    return true;
  }
  const bool may_be_blocked = !blocks_.empty() && operation_ != Operation::kReset;
  const auto until = may_be_blocked ? longest_block(blocks_, ask, now) : std::nullopt;
  if (!until) return settle_under_way(item);
  answer.cause = Answer::Cause::kBlocked;
  answer.decision = blocked_until(*until, quota, now);
  return true;
}

// Only who passes requests on knows how many are under way. Others learn nothing of it.
bool Asks::settle_under_way(Item& item) const {
  if (item.ask.rule->effect != Rule::Effect::kConcurrency) return false;
  const std::int64_t under_way = is_hit(operation_) ? item.ask.cost : 0;
  Answer& answer = item.answer;
  answer.cause = under_way == 0 ? Answer::Cause::kNotCounted : Answer::Cause::kUnderWay;
  answer.decision = untouched(answer.quota);
  answer.decision.remaining -= under_way;
  if (answer.decision.remaining < 0) answer.decision = refused(answer.quota);
  return true;
}

}  // namespace weir
