#include "engine/switching/rule_switches.h"

#include <algorithm>
#include <utility>

#include "base/if_memory.h"

namespace weir {
namespace {

constexpr std::size_t kLatestSeconds = RecentRequests::kLatest / std::chrono::seconds(1);

bool any_switches(std::span<const Quota> limits) {
  return std::ranges::any_of(limits, [](const Quota& limit) { return limit.switches(); });
}

RecentRequests requests_of(RuleNumber rule, const TrafficWindow& window) {
  const TrafficCounts all = window.of(rule);
  return {.all = all.requests,
          .latest = window.of(rule, kLatestSeconds).requests,
          .denied = all.denied + all.shadow};
}

}  // namespace

bool may_switch(const Rule& rule) {
  const auto named = [](const Rule::LimitsByName& limits) {
    return std::ranges::any_of(limits, [](const auto& each) { return any_switches(each.second); });
  };
  return any_switches({&rule.quota, 1}) || any_switches(rule.limits) || named(rule.overrides) ||
         named(rule.tiers);
}

RuleSwitches::RuleSwitches(const SwitchThresholds& thresholds, ActiveAlgorithms& active,
                           OnChange on_change)
    : thresholds_(thresholds), active_(active), on_change_(std::move(on_change)) {}

// ---- decisions ----

void RuleSwitches::decide(const TrafficSnapshot& recent, const RuleSetPtr& rules,
                          Instant now) noexcept {
  has_memory_for([&] {
    if (rules != rules_) use_rules(rules);
    if (recent.newest == decided_) return;
    decided_ = recent.newest;
    proposed_.clear();
    for (const Switching& rule : switching_) decide_about(rule, recent, now);
  });
}

// A rule that comes back goes on with the algorithm that it followed.
void RuleSwitches::use_rules(const RuleSetPtr& rules) {
  std::vector<Switching> switching = {
      {.id = {}, .hash = rule_hash({}), .counted_as = ruleless_, .followed_as = kNoRuleNumber}};
  for (const Rule& rule : rules->rules()) {
    if (rule.number == kNoRuleNumber || !may_switch(rule)) continue;
    switching.push_back({.id = rule.id,
                         .hash = rule_hash(rule.id),
                         .counted_as = rule.number,
                         .followed_as = rule.number});
  }
  rules_ = rules;
  switching_ = std::move(switching);
  for (const Switching& rule : switching_) {
    if (const Entry* entry = find(rule.hash)) put_in_force(rule, entry->now);
  }
}

void RuleSwitches::put_in_force(const Switching& rule, const RuleSwitch& to) {
  const Algorithm from = active_.of(rule.followed_as).algorithm;
  active_.set(rule.followed_as, to.active);
  if (to.active.algorithm != from) on_change_({.rule = rule.id, .from = from, .to = to});
}

void RuleSwitches::decide_about(const Switching& rule, const TrafficSnapshot& recent, Instant now) {
  const Entry* const entry = find(rule.hash);
  const RuleSwitch before = entry == nullptr ? RuleSwitch() : entry->now;
  const RecentRequests sum = requests_of(rule.counted_as, recent.sum);
  // The usual case: then nobody need look at the nodes.
  if (wanted_algorithm(sum, before.active.algorithm, thresholds_) == before.active.algorithm) {
    return;
  }
  nodes_.clear();
  for (const NodeTraffic& node : recent.nodes) {
    nodes_.push_back(requests_of(rule.counted_as, node.window));
  }
  const Duration watched = std::chrono::seconds(recent.known_seconds);
  const Duration since_switch = entry == nullptr ? Duration::max() : now - before.since;
  const Algorithm chosen =
      choose_algorithm({.nodes = nodes_, .watched = watched, .since_switch = since_switch},
                       before.active.algorithm, thresholds_);
  if (chosen == before.active.algorithm) return;
  const RuleSwitch to{
      .active = next_switch(before.active.number, chosen), .since = now, .why = sum_of(nodes_)};
  if (recent.scope == TrafficSnapshot::Scope::kFleet) {
    proposed_.push_back({.rule = rule.hash, .to = to, .replaces = before.active.number});
  } else {
    follow(rule.hash, to);
  }
}

void RuleSwitches::follow(std::uint64_t rule, const RuleSwitch& to) {
  {
    const std::scoped_lock lock(mutex_);
    if (entries_.size() >= kRulesMax && !entries_.contains(rule)) return;
    RuleSwitch& now = entries_[rule].now;
    const bool changes = now.active.algorithm != to.active.algorithm;
    const std::uint64_t count = now.count + (changes ? 1 : 0);
    now = to;
    now.count = count;
  }
  is_ahead_ = true;
  for (const Switching& each : switching_) {
    if (each.hash == rule) put_in_force(each, to);
  }
}

const RuleSwitches::Entry* RuleSwitches::find(std::uint64_t rule) const {
  const auto found = entries_.find(rule);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<RuleSwitch> RuleSwitches::of(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  const Entry* const entry = find(rule_hash(id));
  return entry == nullptr ? std::nullopt : std::optional(entry->now);
}

std::optional<RuleSwitch> RuleSwitches::latest() const {
  const std::scoped_lock lock(mutex_);
  std::optional<RuleSwitch> latest;
  for (const auto& [rule, entry] : entries_) {
    if (!latest || entry.now.since > latest->since) latest = entry.now;
  }
  return latest;
}

// ---- between nodes ----

std::vector<RuleSwitches::Said> RuleSwitches::unsaid(std::size_t most) {
  std::vector<Said> said = proposed_;
  said.resize(std::min(most, said.size()));
  if (!std::exchange(is_ahead_, false)) return said;
  for (const auto& [rule, entry] : entries_) {
    if (entry.now.active.number <= entry.in_redis) continue;
    is_ahead_ = true;
    if (said.size() == most) break;
    said.push_back({.rule = rule, .to = entry.now, .replaces = entry.now.active.number - 1});
  }
  return said;
}

void RuleSwitches::learn(std::uint64_t rule, const RuleSwitch& there) {
  const Entry* const entry = find(rule);
  const std::uint32_t ours = entry == nullptr ? 0 : entry->now.active.number;
  if (there.active.number > ours) follow(rule, there);
  const auto found = entries_.find(rule);
  if (found == entries_.end()) return;
  found->second.in_redis = there.active.number;
  is_ahead_ = is_ahead_ || there.active.number < ours;
}

void RuleSwitches::say_all_again() {
  for (auto& [rule, entry] : entries_) entry.in_redis = 0;
  is_ahead_ = true;
}

}  // namespace weir
