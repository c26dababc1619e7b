// A node's switches, for tests, with the traffic that a test wants, and the log of switches.
//
// Thread rule: one thread. Tested by src/engine/switching/rule_switches_test.cc, which uses it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/switching/rule_switches.h"

namespace weir::testing {

inline constexpr RuleNumber kLogin = 0;
inline constexpr RuleNumber kSearch = 1;
inline constexpr RuleNumber kRuleless = 2;
inline constexpr Algorithm kCalm = Algorithm::kSlidingWindow;
inline constexpr Algorithm kBursting = Algorithm::kTokenBucket;
inline constexpr Algorithm kHammered = Algorithm::kExponentialBackoff;

inline Quota quota(Algorithm algorithm) {
  return *Quota::make({.algorithm = algorithm, .limit = 100, .window = std::chrono::minutes(1)});
}

struct Switching {
  Switching() { switches.count_ruleless_as(kRuleless); }

  // Lets `seconds` seconds pass. In each of them this node has these requests of each rule.
  void pass(int seconds, const std::vector<RuleTraffic>& traffic) {
    for (; seconds > 0; --seconds) {
      now += std::chrono::seconds(1);
      ++recent.newest;
      recent.known_seconds = std::min<std::int64_t>(recent.known_seconds + 1, 10);
      auto second = std::make_shared<TrafficSecond>();
      second->rules = traffic;
      recent.sum.push(second);
      recent.nodes.resize(1);
      recent.nodes[0].window.push(second);
      decide();
    }
  }
  void burst(RuleNumber rule) { pass(1, {{.rule = rule, .counts = {.requests = 100}}}); }
  void decide() { switches.decide(recent, in_force, now); }

  Algorithm active(RuleNumber rule) const { return algorithms.of(rule).algorithm; }
  std::uint32_t number(RuleNumber rule) const { return algorithms.of(rule).number; }

  void use_rules(std::vector<Rule> rules) {
    in_force = std::make_shared<const RuleSet>(std::move(rules));
  }

  TrafficSnapshot recent{.scope = TrafficSnapshot::Scope::kNode, .newest = 1'700'000'000};
  Instant now = instant_from_epoch_us(1'700'000'000'000'000);
  RuleSetPtr in_force = std::make_shared<const RuleSet>(
      std::vector<Rule>{{.id = "login", .quota = quota(Algorithm::kAdaptive), .number = kLogin},
                        {.id = "search", .quota = quota(Algorithm::kAdaptive), .number = kSearch},
                        {.id = "fixed", .quota = quota(Algorithm::kFixedWindow), .number = 3}});
  ActiveAlgorithms algorithms;
  std::vector<std::string> log;
  RuleSwitches switches{{}, algorithms, [this](const RuleSwitches::Change& change) {
                          log.push_back(std::string(change.rule) + ": " +
                                        std::string(algorithm_name(change.from)) + " -> " +
                                        std::string(algorithm_name(change.to.active.algorithm)));
                        }};
};

inline RuleSwitch switched(std::uint32_t number, Instant since) {
  return {.active = {algorithm_of_switch(number), number}, .since = since};
}

}  // namespace weir::testing
