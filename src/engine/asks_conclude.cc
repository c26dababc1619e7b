// What follows from the answers of Asks: figures, blocks, and what the fleet learns.

#include "engine/asks.h"
#include "engine/block_denied.h"

namespace weir {
namespace {

// Whether its answers are figures: it is more than a name.
bool is_counted(const Rule& rule) { return rule.enabled && rule.effect != Rule::Effect::kExempt; }

// REQUIRES: answer.over is set.
RuleOutcome outcome_of(const Rule& rule, const Answer& answer) {
  if (!answer.over) return RuleOutcome::kAllowed;
  if (rule.shadow) return RuleOutcome::kShadow;
  return answer.cause == Answer::Cause::kBlocked ? RuleOutcome::kBlocked : RuleOutcome::kDenied;
}

}  // namespace

void Asks::conclude(Instant now) {
  if (is_unavailable_) return engine_.record_store_error();
  for (const auto& each : items()) {
    Item& item = *each;
    item.answer.over = !item.answer.allowed();
    record(item, now);
    if (item.answer.over && item.is_shadow()) item.answer.decision.verdict = Verdict::kAllowed;
  }
  if (engine_.fleet() != nullptr && has_charged()) report_admitted_alone(now);
}

void Asks::record(const Item& item, Instant now) {
  const Ask& ask = item.ask;
  const Answer& answer = item.answer;
  if (operation_ == Operation::kLook) {
    engine_.record_look();
  } else if (spends(operation_) && answer.cause != Answer::Cause::kNotCounted) {
    engine_.record(answer.decision, answer.quota.algorithm(), now);
  }
  if (answer.is_alone) engine_.record_fallback();
  if (ask.rule == nullptr) return;
  const Rule& rule = *ask.rule;
  if (spends(operation_) && is_counted(rule)) {
    engine_.record_rule(rule.number, outcome_of(rule, answer), item.hashes.front(), now);
  }
  if (operation_ == Operation::kReset) blocks_.lift(rule.id, ask.key);
  // A node that decides alone has but its share: that is no reason to block on all.
  const bool may_block = answer.cause == Answer::Cause::kCounted && answer.over &&
                         !answer.is_alone && !rule.shadow && spends(operation_) && ask.cost > 0;
  if (may_block && !rule.denial.blocks.empty()) {
    block_denied(engine_, blocks_, {.rule = rule, .key = ask.key}, now);
  }
}

// Whether counters have changed: not by a look, nor if one of all denied.
bool Asks::has_charged() const {
  if (operation_ != Operation::kSpendAll) return operation_ != Operation::kLook;
  return std::ranges::none_of(
      items(), [](const auto& item) { return item->answer.over && !item->is_shadow(); });
}

// Tells the fleet what this node's counters have admitted while its store failed.
void Asks::report_admitted_alone(Instant now) {
  for (const auto& each : items()) {
    const Item& item = *each;
    const bool alone = item.answer.is_alone && item.answer.cause == Answer::Cause::kCounted;
    if (!alone || item.answer.over || !spends(operation_)) continue;
    for (std::size_t limit = 0; limit < item.limits.size(); ++limit) {
      const Charge charge{item.hashes[limit], &item.limits[limit], item.ask.cost, item.tag()};
      engine_.fleet()->admitted_alone(charge, now);
    }
  }
}

}  // namespace weir
