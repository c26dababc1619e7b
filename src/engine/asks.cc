#include "engine/asks.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

// No id of a rule begins so: these counters are out of reach of whoever names rules.
constexpr std::string_view kDenialsOf("\0denials", 8);
constexpr std::string_view kBlocksOf("\0blocks", 7);

bool spends(Operation operation) {
  return operation == Operation::kSpendEach || operation == Operation::kSpendAll;
}

bool is_shadow(const Ask& ask) { return ask.rule != nullptr && ask.rule->shadow; }

std::string_view rule_id(const Ask& ask) {
  return ask.rule == nullptr ? std::string_view() : std::string_view(ask.rule->id);
}

// Whether its answers are figures: it is more than a name.
bool is_counted(const Rule& rule) { return rule.enabled && rule.effect != Rule::Effect::kExempt; }

// REQUIRES: answer.over is set.
RuleOutcome outcome_of(const Ask& ask, const Answer& answer) {
  if (!answer.over) return RuleOutcome::kAllowed;
  if (is_shadow(ask)) return RuleOutcome::kShadow;
  return answer.cause == Answer::Cause::kBlocked ? RuleOutcome::kBlocked : RuleOutcome::kDenied;
}

// As if the key had never been seen.
Decision untouched(const Quota& quota) {
  return {.limit = quota.capacity(), .remaining = quota.capacity()};
}

}  // namespace

bool presses_more(const Decision& one, const Decision& other) {
  if (one.allowed() != other.allowed()) return !one.allowed();
  if (one.allowed()) return one.remaining < other.remaining;
  if (one.verdict != other.verdict) return one.verdict == Verdict::kNever;
  return one.retry_after > other.retry_after;
}

void number_rules(std::vector<Rule>& rules, RuleCounts& counts) {
  for (Rule& rule : rules) rule.number = counts.number_of(rule.id);
}

void Asks::begin(Operation operation) {
  operation_ = operation;
  size_ = 0;
  joint_limits_ = 0;
}

bool Asks::add(const Ask& ask) {
  if (size_ == kAsksMax) return false;
  asks_[size_] = ask;
  const Ask& kept = asks_[size_];
  limits_[size_] = ask.rule == nullptr ? std::span<const Quota>(&kept.quota, 1)
                                       : ask.rule->limits_for(ask.key, ask.tier);
  const auto limits = limits_[size_];
  if (operation_ == Operation::kSpendAll && !is_shadow(ask)) {
    if (joint_limits_ + limits.size() > Batch::kChargesMax) return false;
    joint_limits_ += limits.size();
  }
  const KeyName name{.rule = rule_id(ask), .bucket = ask.bucket, .key = ask.key};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    hashes_[size_][i] = engine_.hash(name, limits[i]);
  }
  if (ask.rule != nullptr) asks_[size_].key = keys_[size_].assign(ask.key);
  ++size_;
  return true;
}

bool Asks::decide(Instant now) {
  std::array<std::uint8_t, kAsksMax> counted{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!settle_uncounted(i, now)) counted[count++] = static_cast<std::uint8_t>(i);
  }
  const bool answered = operation_ == Operation::kSpendAll
                            ? decide_together(now)
                            : decide_apart(Members(counted).first(count), operation_, now);
  if (!answered) {
    engine_.record_store_error();
    return false;
  }
  for (std::size_t i = 0; i < size_; ++i) conclude(i, now);
  return true;
}

// Answers what needs no counter. True if it did.
bool Asks::settle_uncounted(std::size_t index, Instant now) {
  const Ask& ask = asks_[index];
  const Quota& quota = limits_[index].front();
  Answer& answer = answers_[index];
  answer = {.quota = quota};
  if (ask.rule == nullptr) return false;
  const Rule& rule = *ask.rule;
  if (!rule.in_force(now) || rule.effect != Rule::Effect::kLimit) {
    answer = {.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
    return true;
  }
  if (!rule.deny.empty() && rule.deny.holds(ask.key, ask.client)) {
    answer.cause = Answer::Cause::kDenyList;
    answer.decision = {.verdict = Verdict::kNever, .limit = quota.capacity()};
    return true;
  }
  if (!rule.allow.empty() && rule.allow.holds(ask.key, ask.client)) {
    answer = {.cause = Answer::Cause::kNotCounted, .decision = untouched(quota), .quota = quota};
    return true;
  }
  if (blocks_.empty() || operation_ == Operation::kReset) return false;
  const auto until = blocks_.until(rule.id, ask.key, now);
  if (!until) return false;
  answer.cause = Answer::Cause::kBlocked;
  answer.decision = {.verdict = Verdict::kDenied,
                     .limit = quota.capacity(),
                     .retry_after = *until - now,
                     .reset_after = *until - now};
  return true;
}

// Those with one limit share a batch; those with several have one each, in which all
// limits hold or none is charged.
bool Asks::decide_apart(Members asks, Operation operation, Instant now) {
  std::array<std::uint8_t, kAsksMax> singles{};
  std::size_t count = 0;
  for (const std::uint8_t index : asks) {
    if (limits_[index].size() == 1) {
      singles[count++] = index;
      continue;
    }
    const auto joint = operation == Operation::kSpendEach ? Operation::kSpendAll : operation;
    if (!decide_batch({&index, 1}, joint, now)) return false;
  }
  return decide_batch(Members(singles).first(count), operation, now);
}

bool Asks::decide_together(Instant now) {
  std::array<std::uint8_t, kAsksMax> enforced{};
  std::array<std::uint8_t, kAsksMax> shadows{};
  std::size_t enforced_count = 0;
  std::size_t shadow_count = 0;
  bool allowed = true;
  for (std::size_t i = 0; i < size_; ++i) {
    const bool counted = answers_[i].cause == Answer::Cause::kCounted;
    const auto index = static_cast<std::uint8_t>(i);
    if (!counted) {
      allowed = allowed && (answers_[i].allowed() || is_shadow(asks_[i]));
    } else if (is_shadow(asks_[i])) {
      shadows[shadow_count++] = index;
    } else {
      enforced[enforced_count++] = index;
    }
  }
  const auto joint = allowed ? Operation::kSpendAll : Operation::kLook;
  const auto members = Members(enforced).first(enforced_count);
  if (!decide_batch(members, joint, now)) return false;
  allowed = allowed && std::ranges::all_of(
                           members, [&](std::uint8_t index) { return answers_[index].allowed(); });
  return decide_apart(Members(shadows).first(shadow_count),
                      allowed ? Operation::kSpendEach : Operation::kLook, now);
}

bool Asks::decide_batch(Members asks, Operation operation, Instant now) {
  if (asks.empty()) return true;
  check_.begin(operation);
  for (const std::uint8_t index : asks) {
    for (std::size_t i = 0; i < limits_[index].size(); ++i) {
      check_.add(hashes_[index][i], limits_[index][i], asks_[index].cost);
    }
  }
  if (!check_.decide(engine_, now)) return false;
  const auto decisions = check_.decisions();
  std::size_t next = 0;
  for (const std::uint8_t index : asks) {
    Answer& answer = answers_[index];
    for (std::size_t i = 0; i < limits_[index].size(); ++i, ++next) {
      if (i > 0 && !presses_more(decisions[next], answer.decision)) continue;
      answer.decision = decisions[next];
      answer.quota = limits_[index][i];
    }
  }
  return true;
}

// What follows from an answer: figures, blocks, and that a shadow lets pass.
void Asks::conclude(std::size_t index, Instant now) {
  const Ask& ask = asks_[index];
  Answer& answer = answers_[index];
  answer.over = !answer.allowed();
  if (operation_ == Operation::kLook) {
    engine_.record_look();
  } else if (spends(operation_) && answer.cause != Answer::Cause::kNotCounted) {
    engine_.record(answer.decision, answer.quota.algorithm(), now);
  }
  if (ask.rule == nullptr) return;
  if (spends(operation_) && is_counted(*ask.rule)) {
    engine_.record_rule(ask.rule->number, outcome_of(ask, answer), hashes_[index].front(), now);
  }
  if (operation_ == Operation::kReset) blocks_.lift(ask.rule->id, ask.key);
  if (answer.over && is_shadow(ask)) answer.decision.verdict = Verdict::kAllowed;
  const bool may_block = answer.cause == Answer::Cause::kCounted && !answer.allowed() &&
                         spends(operation_) && ask.cost > 0;
  if (may_block && !ask.rule->denial.blocks.empty()) block_denied(ask, now);
}

void Asks::block_denied(const Ask& ask, Instant now) {
  const Denial& denial = ask.rule->denial;
  if (denial.block_after > 1) {
    const auto quota = Quota::make({.algorithm = Algorithm::kSlidingLog,
                                    .limit = denial.block_after,
                                    .window = denial.block_window});
    const auto denials = spend_one(ask, kDenialsOf, *quota, now);
    if (!denials || denials->remaining > 0) return;
  }
  std::size_t level = 0;
  if (denial.blocks.size() > 1) {
    const auto lengths = static_cast<std::int64_t>(denial.blocks.size());
    const auto quota = Quota::make(
        {.algorithm = Algorithm::kSlidingLog, .limit = lengths, .window = denial.block_memory});
    const auto blocks = spend_one(ask, kBlocksOf, *quota, now);
    if (blocks) level = static_cast<std::size_t>(lengths - blocks->remaining - 1);
  }
  blocks_.add({.rule = ask.rule->id,
               .key = std::string(ask.key),
               .since = now,
               .until = now + denial.blocks[level]},
              now);
}

// Counts one event of the rule and key that is no request. Nothing if the store cannot.
std::optional<Decision> Asks::spend_one(const Ask& ask, std::string_view purpose,
                                        const Quota& quota, Instant now) {
  check_.begin(Operation::kSpendEach);
  const KeyName name{.rule = purpose, .bucket = ask.rule->id, .key = ask.key};
  check_.add(engine_.hash(name, quota), quota, 1);
  if (!check_.decide(engine_, now)) return std::nullopt;
  return check_.decisions().front();
}

}  // namespace weir
