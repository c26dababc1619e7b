// RuleSwitches: which algorithm each rule that switches follows, since when and why.
//
//   RecentTraffic ──decide()──> alone: switched at once ────────────┐
//                               in a fleet: proposed to Redis       ├──> ActiveAlgorithms, log
//   what Redis has ──learn()──> the greater number is followed ─────┘
//
// While Redis is away, a node decides by its own figures. When it is back, the greater number wins
// on all nodes, and Redis gets back what it has lost (unsaid()). Charges without a rule switch
// together, like a rule without an id.
//
// Thread rule: decide(), learn() and the functions next to them on the first core; of() and all()
// from any thread. Tested by rule_switches_test.cc and tests/e2e/adaptive_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/switching/active_algorithms.h"
#include "engine/switching/traffic_switch.h"
#include "observe/recent_traffic.h"
#include "rules/rule_set.h"
#include "weir/time.h"

namespace weir {

struct RuleSwitch {
  ActiveAlgorithm active{};
  Instant since{};          // on this node's clock
  RecentRequests why{};     // of the fleet
  std::uint64_t count = 0;  // changes that this node has followed

  friend bool operator==(const RuleSwitch&, const RuleSwitch&) = default;
};

// Whether any limit of the rule switches.
bool may_switch(const Rule& rule);

class RuleSwitches {
 public:
  // The most rules that are followed: bounds what a Redis may send.
  static constexpr std::size_t kRulesMax = RuleCounts::kRulesMax + 1;

  // A switch that people should know of. `rule`: its id; empty for charges without a rule.
  struct Change {
    std::string_view rule;
    Algorithm from{};
    const RuleSwitch& to;
  };
  using OnChange = std::function<void(const Change&)>;

  // `active` must outlive it. The first core calls `on_change`.
  RuleSwitches(const SwitchThresholds& thresholds, ActiveAlgorithms& active, OnChange on_change);

  // Call it at least once a second. If a second has ended, it decides about all of these rules that
  // switch. If memory is short, a switch waits for the next second.
  void decide(const TrafficSnapshot& recent, const RuleSetPtr& rules, Instant now) noexcept;
  // The number under which charges without a rule count in the traffic (observe/rule_counts.h).
  void count_ruleless_as(RuleNumber number) { ruleless_ = number; }

  // What the rule with that id follows; nothing if it has never switched.
  std::optional<RuleSwitch> of(std::string_view id) const;
  // The latest switch of all rules; nothing if there was none.
  std::optional<RuleSwitch> latest() const;

  // ---- between the nodes of a fleet ----

  struct Said {
    std::uint64_t rule = 0;  // rule_hash() of its id
    RuleSwitch to{};
    // It replaces a switch whose number is this or lower.
    std::uint32_t replaces = 0;
  };
  // What Redis does not know: proposals, and switches that it lost.
  std::vector<Said> unsaid(std::size_t most);
  // Redis has answered. If it took a proposal, this comes back as one of its switches.
  void answered() { proposed_.clear(); }
  // Redis has this switch. If its number is lower than this node's, the rule does not follow it.
  void learn(std::uint64_t rule, const RuleSwitch& there);
  // Redis has lost its switches: all must be said again.
  void say_all_again();

 private:
  struct Entry {
    RuleSwitch now{};
    std::uint32_t in_redis = 0;  // the last number there
  };
  struct Switching {
    std::string_view id;  // a text of rules_; or empty
    std::uint64_t hash;
    RuleNumber counted_as;
    RuleNumber followed_as;
  };

  void use_rules(const RuleSetPtr& rules);
  void decide_about(const Switching& rule, const TrafficSnapshot& recent, Instant now);
  void follow(std::uint64_t rule, const RuleSwitch& to);
  void put_in_force(const Switching& rule, const RuleSwitch& to);
  const Entry* find(std::uint64_t rule) const;

  const SwitchThresholds thresholds_;
  ActiveAlgorithms& active_;
  const OnChange on_change_;
  RuleNumber ruleless_ = kNoRuleNumber;

  RuleSetPtr rules_;
  std::vector<Switching> switching_;  // of rules_
  std::int64_t decided_ = 0;          // the last second that was decided
  std::vector<Said> proposed_;
  bool is_ahead_ = false;              // Redis may lack some entry
  std::vector<RecentRequests> nodes_;  // reused

  mutable std::mutex mutex_;  // guards entries_ against other threads; only the first core writes
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace weir
