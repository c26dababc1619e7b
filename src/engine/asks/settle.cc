#include "engine/asks/settle.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weir {
namespace {

// When to ask again if nobody knows better.
constexpr Duration kRetry = std::chrono::seconds(1);

// The latest end of blocks of the keys that the ask may have, and of its client. `name`: hashed by
// the engine's hasher.
std::optional<Instant> longest_block(const Engine& engine, const BlockList& blocks, const Ask& ask,
                                     const HashedName& name, Instant now) {
  const bool is_secret = ask.rule != nullptr && has_secret_key(*ask.rule);
  const bool is_hashed =
      &engine.hasher() == &blocks.hasher() && ask.key.size() <= Block::kKeyMax && !is_secret;
  if (ask.choices == nullptr && is_hashed) {
    const std::string_view rule = ask.rule == nullptr ? std::string_view() : ask.rule->id;
    return blocks.until(name, rule, ask.key, ask.client, now);
  }
  if (ask.rule == nullptr) return blocks.until({}, ask.key, ask.client, now);
  if (ask.choices == nullptr) return block_end(blocks, *ask.rule, ask.key, ask.client, now);
  std::optional<Instant> until;
  for (const std::string& key : ask.choices->keys) {
    until = std::max(until, block_end(blocks, *ask.rule, key, ask.client, now));
  }
  return until;
}

}  // namespace

StoredKey stored_key(const Rule& rule, std::string_view key) {
  return StoredKey(key, has_secret_key(rule) ? StoredKey::Kind::kSecret : StoredKey::Kind::kPlain);
}

// A person may have blocked the key itself, for all rules.
std::optional<Instant> block_end(const BlockList& blocks, const Rule& rule, std::string_view key,
                                 const std::optional<IpAddress>& client, Instant now) {
  const StoredKey stored = stored_key(rule, key);
  const HashedName name =
      blocks.hasher().hash_names({.rule = rule.id, .bucket = {}, .key = stored});
  return blocks.until(name, rule.id, key, client, now);
}

namespace {

// A denial that no wait can change.
Answer never(Answer::Cause cause, const Quota& quota) {
  return {.cause = cause,
          .decision = {.verdict = Verdict::kNever, .limit = quota.capacity()},
          .quota = quota};
}

// What the rule decides without counters and blocks. Nothing if the item must be counted.
std::optional<Answer> settle_by_rule(const Ask& ask, const Quota& quota, Instant wall_time) {
  const Rule::Effect effect = ask.rule->effect;
  const bool limits = effect == Rule::Effect::kLimit || effect == Rule::Effect::kConcurrency;
  if (limits && ask.rule->in_force(wall_time)) {
    if (ask.is_on_deny_list()) return never(Answer::Cause::kDenyList, quota);
    if (!ask.is_on_allow_list()) {
      if (ask.key_state != Ask::KeyState::kRefused) return std::nullopt;
      return never(Answer::Cause::kMissingKey, quota);
    }
  }
  return Answer{.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
}

// Only a gateway knows how many requests are under way; other doors learn nothing of it. Slots are
// counted, as holds are.
bool settle_under_way(Round::Item& item) {
  const Rule* const rule = item.ask.rule;
  if (rule == nullptr || rule->effect != Rule::Effect::kConcurrency || rule->has_slots()) {
    return false;
  }
  const std::int64_t under_way = item.ask.under_way;
  Answer& answer = item.answer;
  answer.cause = under_way == 0 ? Answer::Cause::kNotCounted : Answer::Cause::kUnderWay;
  answer.decision = untouched(answer.quota);
  answer.decision.remaining -= under_way;
  if (answer.decision.remaining < 0) answer.decision = refused(answer.quota);
  return true;
}

// Returns true if the item has its answer.
bool settle_item(Round::Item& item, const Round& round, const Engine& engine,
                 const BlockList& blocks, Instant now) {
  const Quota& quota = item.limits.front();
  Answer& said = item.answer;  // in place: a copy would take twice as long
  said.cause = Answer::Cause::kCounted;
  said.decision = {};
  said.wait = Duration{0};
  said.offered = 0;
  said.quota = quota;
  said.over = said.is_alone = false;
  said.mode = Mode::kLocal;
  if (item.ask.rule != nullptr) {
    if (const auto answer = settle_by_rule(item.ask, quota, engine.wall_time(now))) {
      item.answer = *answer;
      return true;
    }
  }
  const bool may_be_blocked = !blocks.empty() && round.operation() != Operation::kReset;
  const auto until =
      may_be_blocked ? longest_block(engine, blocks, item.ask, item.name, now) : std::nullopt;
  if (!until) return settle_under_way(item);
  item.answer.cause = Answer::Cause::kBlocked;
  item.answer.decision = blocked_until(*until, quota, now);
  return true;
}

}  // namespace

void settle(Round& round, const Engine& engine, const BlockList& blocks, Instant now) {
  for (const auto& item : round.items()) {
    item->is_settled = settle_item(*item, round, engine, blocks, now);
    if (item->ask.choices != nullptr) item->ask.choices.reset();
  }
}

void leave_units(const Ask& ask, Answer& answer) {
  if (answer.cause != Answer::Cause::kCounted || ask.under_way == 0) return;
  Decision& now = answer.decision;
  const std::int64_t others = std::max<std::int64_t>(0, ask.under_way - ask.cost);
  const std::int64_t left = std::max<std::int64_t>(0, now.remaining - others);
  // Such a request holds more than a lowered limit; it may take all of it if it is alone.
  const bool is_lower = ask.cost > now.limit && now.limit > 0;
  const std::int64_t needed = ask.is_alone ? std::min(ask.under_way, now.limit) : ask.under_way;
  if (answer.allowed() || is_lower) {
    if (now.remaining < needed) {
      answer.cause = Answer::Cause::kUnderWay;
      now = refused(answer.quota);
    } else {
      now.verdict = Verdict::kAllowed;
      now.retry_after = Duration{0};
    }
  }
  now.remaining = left;
}

Decision refused(const Quota& quota) {
  return {.verdict = Verdict::kDenied,
          .limit = quota.capacity(),
          .retry_after = kRetry,
          .reset_after = kRetry,
          .more_after = kRetry};
}

Decision untouched(const Quota& quota) {
  return {.limit = quota.capacity(), .remaining = quota.capacity()};
}

Decision blocked_until(Instant until, const Quota& quota, Instant now) {
  return {.verdict = Verdict::kDenied,
          .limit = quota.capacity(),
          .retry_after = until - now,
          .reset_after = until - now,
          .more_after = until - now};
}

}  // namespace weir
