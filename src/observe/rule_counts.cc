#include "observe/rule_counts.h"

namespace weir {

void CoreRuleCounts::record(RuleNumber rule, RuleOutcome outcome) noexcept {
  if (rule == kNoRuleNumber) return;
  auto& counts = (*chunks_[rule / kChunkRules])[rule % kChunkRules];
  auto& count = counts[static_cast<std::size_t>(outcome)];
  // Only the owning core writes: a load and a store are an increment.
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void CoreRuleCounts::make_room(std::size_t count) {
  for (std::size_t i = 0; i * kChunkRules < count; ++i) {
    if (chunks_[i] == nullptr) chunks_[i] = std::make_unique<Chunk>();
  }
}

CoreRuleCounts& RuleCounts::add_core() {
  const std::scoped_lock lock(mutex_);
  CoreRuleCounts& core = cores_.emplace_back();
  core.make_room(numbers_.size());
  return core;
}

RuleNumber RuleCounts::number_of(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = numbers_.find(id); known != numbers_.end()) return known->second;
  if (numbers_.size() == kRulesMax) return kNoRuleNumber;
  const auto number = static_cast<RuleNumber>(numbers_.size());
  numbers_.emplace(id, number);
  for (CoreRuleCounts& core : cores_) core.make_room(numbers_.size());
  return number;
}

RuleFigures RuleCounts::figures(RuleNumber rule) const {
  RuleFigures sum{};
  if (rule == kNoRuleNumber) return sum;
  const std::scoped_lock lock(mutex_);
  for (const CoreRuleCounts& core : cores_) {
    const auto& chunk = *core.chunks_[rule / CoreRuleCounts::kChunkRules];
    const auto& counts = chunk[rule % CoreRuleCounts::kChunkRules];
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      sum[i] += counts[i].load(std::memory_order_relaxed);
    }
  }
  return sum;
}

}  // namespace weir
