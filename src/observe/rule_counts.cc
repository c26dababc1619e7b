#include "observe/rule_counts.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace weir {

std::uint64_t rule_hash(std::string_view id) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char each : id) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return hash;
}

bool CoreRuleCounts::record(RuleNumber rule, RuleOutcome outcome, std::uint64_t key_hash,
                            Instant now) noexcept {
  if (rule == kNoRuleNumber) return false;
  Counts& counts = rules_[rule];
  counts.outcomes[static_cast<std::size_t>(outcome)].add();
  if (timed_count_ < kTimedMax) timed_[timed_count_++] = rule;
  const bool is_taken = counts.sampler.takes_next();
  counts.keys.add(key_hash, now);
  return is_taken;
}

void CoreRuleCounts::record_latency(Duration elapsed) noexcept {
  for (std::size_t i = 0; i < timed_count_; ++i) rules_[timed_[i]].latency.record(elapsed);
  timed_count_ = 0;
}

void RuleCounts::add_core(const CoreRuleCounts& core) {
  const std::scoped_lock lock(mutex_);
  cores_.push_back(&core);
}

RuleNumber RuleCounts::number_of(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = numbers_.find(id); known != numbers_.end()) return known->second;
  if (numbers_.size() == kRulesMax) return kNoRuleNumber;
  const auto number = static_cast<RuleNumber>(numbers_.size());
  const std::uint64_t hash = rule_hash(id);
  hashes_.resize(number + std::size_t{1});
  hashes_[number] = hash;
  ids_.resize(numbers_.size() + 1);  // before the number, which needs its id
  ids_[number] = &numbers_.emplace(id, number).first->first;
  by_hash_.emplace(hash, number);
  return number;
}

std::uint64_t RuleCounts::hash_of(RuleNumber rule) const {
  const std::scoped_lock lock(mutex_);
  return hashes_[rule];
}

RuleNumber RuleCounts::number_with(std::uint64_t hash) const {
  const std::scoped_lock lock(mutex_);
  const auto known = by_hash_.find(hash);
  return known == by_hash_.end() ? kNoRuleNumber : known->second;
}

std::string RuleCounts::id_of(RuleNumber rule) const {
  const std::scoped_lock lock(mutex_);
  return rule < ids_.size() ? *ids_[rule] : std::string();
}

RuleFigures RuleCounts::figures(RuleNumber rule) const {
  RuleFigures sum{};
  if (rule == kNoRuleNumber) return sum;
  const std::scoped_lock lock(mutex_);
  for (const CoreRuleCounts* core : cores_) {
    for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
      sum[i] += core->rules_[rule].outcomes[i].read();
    }
  }
  return sum;
}

// Core by core, so that distant memory comes several cache lines at a time.
std::vector<RuleFigures> RuleCounts::all_figures() const {
  const std::scoped_lock lock(mutex_);
  std::vector<RuleFigures> sums(numbers_.size());
  for (const CoreRuleCounts* core : cores_) {
    for (std::size_t rule = 0; rule < sums.size(); ++rule) {
      for (std::size_t i = 0; i < kRuleOutcomeCount; ++i) {
        sums[rule][i] += core->rules_[rule].outcomes[i].read();
      }
    }
  }
  return sums;
}

LatencyFigures RuleCounts::latency(RuleNumber rule) const {
  LatencyFigures sum;
  if (rule == kNoRuleNumber) return sum;
  const std::scoped_lock lock(mutex_);
  for (const CoreRuleCounts* core : cores_) core->rules_[rule].latency.add_to(sum);
  return sum;
}

std::uint64_t RuleCounts::keys(RuleNumber rule, Instant now) const {
  KeysSeen seen;
  add_keys(rule, seen, now);
  return KeySketch::estimate(seen.all);
}

void RuleCounts::add_keys(RuleNumber rule, KeysSeen& seen, Instant now) const {
  if (rule == kNoRuleNumber) return;
  const std::scoped_lock lock(mutex_);
  for (const CoreRuleCounts* core : cores_) {
    core->rules_[rule].keys.merge_into(seen.all, now);
    core->rules_[rule].denied_keys.merge_into(seen.denied, now);
  }
}

KeyReport RuleCounts::busiest_keys(RuleNumber rule, KeysBy by, Instant now) const {
  const std::scoped_lock lock(mutex_);
  return sum_of(rule, by, now);
}

// REQUIRES: mutex_ is held
KeyReport RuleCounts::sum_of(RuleNumber rule, KeysBy by, Instant now) const {
  KeyReport sum;
  for (const CoreRuleCounts* core : cores_) sum.add(core->busiest_.report(rule, by, now));
  return sum;
}

std::vector<RuleKeys> RuleCounts::busiest_rules(const Most& most, Instant now) const {
  const std::scoped_lock lock(mutex_);
  std::unordered_map<RuleNumber, std::uint64_t> asked;
  for (const CoreRuleCounts* core : cores_) {
    core->busiest_.each_rule(now, [&](RuleNumber rule, std::uint64_t count) {
      if (rule < ids_.size()) asked[rule] += count;
    });
  }
  std::vector<std::pair<std::uint64_t, RuleNumber>> ranked;
  for (const auto& [rule, count] : asked) ranked.emplace_back(count, rule);
  std::ranges::sort(ranked, std::greater());
  std::vector<RuleKeys> busiest;
  for (const auto& [count, rule] : ranked) {
    if (busiest.size() == most.rules) break;
    RuleKeys& keys = busiest.emplace_back(RuleKeys{.rule = *ids_[rule]});
    keys.asked = sum_of(rule, KeysBy::kAsked, now);
    keys.asked.keep_busiest(most.keys);
    keys.denied = sum_of(rule, KeysBy::kDenied, now);
    keys.denied.keep_busiest(most.keys);
  }
  return busiest;
}

}  // namespace weir
