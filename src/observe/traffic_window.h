// TrafficWindow: the counts of each of the last ten finished seconds, of one node or summed over
// several nodes, in all and by rule.
//
// `all` is not the sum of the rules. It counts decisions as Traffic does, also those without a
// rule.
//
// Thread rule: values; the seconds within do not change, and windows share them.
// Tested by traffic_window_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "observe/rule_counts.h"
#include "weir/quota.h"

namespace weir {

struct TrafficCounts {
  std::uint64_t requests = 0;
  std::uint64_t denied = 0;  // by counters, lists or blocks
  std::uint64_t shadow = 0;  // of a rule: would have been denied, but passed

  TrafficCounts& operator+=(const TrafficCounts& other) {
    requests += other.requests;
    denied += other.denied;
    shadow += other.shadow;
    return *this;
  }
  friend bool operator==(const TrafficCounts&, const TrafficCounts&) = default;
};

struct RuleTraffic {
  RuleNumber rule = kNoRuleNumber;  // on this node
  TrafficCounts counts{};

  friend bool operator==(const RuleTraffic&, const RuleTraffic&) = default;
};

struct TrafficSecond {
  TrafficCounts all{};
  std::vector<RuleTraffic> rules{};  // rules with requests, ascending

  // Zeros if the rule had no requests.
  TrafficCounts of(RuleNumber rule) const;
  void add(const TrafficSecond& other);
};

class TrafficWindow {
 public:
  static constexpr std::size_t kSeconds = 10;
  static constexpr std::size_t kLatest = 2;  // seconds that are compared with all

  // Age 0 is the last finished second. REQUIRES: age < kSeconds
  const TrafficSecond& second(std::size_t age) const;

  // The sums of the `last` seconds. REQUIRES: last <= kSeconds
  TrafficCounts all(std::size_t last = kSeconds) const;
  TrafficCounts of(RuleNumber rule, std::size_t last = kSeconds) const;
  // The sums of each rule with requests, in ascending order.
  std::vector<RuleTraffic> rules() const;

  // Adds a finished second, and forgets the oldest. Null: nothing was counted in it.
  void push(std::shared_ptr<const TrafficSecond> finished);
  // The same for `seconds` seconds in which nothing was counted.
  void push_idle(std::int64_t seconds);
  // Replaces a second. REQUIRES: age < kSeconds
  void replace(std::size_t age, std::shared_ptr<const TrafficSecond> other);

 private:
  std::array<std::shared_ptr<const TrafficSecond>, kSeconds> seconds_{};  // by age
};

struct TrafficRates {
  double requests_per_second = 0;
  double denied_share = 0;  // 0 to 1
  // The rate of the last two seconds over the rate of all; 0 without traffic.
  double burst_ratio = 0;
};
// The counts of several seconds together.
struct CountedSeconds {
  TrafficCounts counts{};
  std::size_t seconds = 0;
};
// REQUIRES: with 0 seconds there are no requests
TrafficRates rates_of(const CountedSeconds& all, const CountedSeconds& latest);
// The rates of all requests, or of a rule's. Only the last `known` seconds count.
TrafficRates rates_of(const TrafficWindow& window, std::int64_t known,
                      RuleNumber rule = kNoRuleNumber);

// The at most `most` rules with the most requests in the window, in ascending order.
std::vector<RuleNumber> busiest_rules(const TrafficWindow& window, std::size_t most);

// Decisions since a node's start; for several nodes, their sum.
struct TrafficTotals {
  std::array<std::uint64_t, kDecidingAlgorithmCount> decisions{};  // indexed by Algorithm
  std::uint64_t denied = 0;

  std::uint64_t requests() const;
  // The algorithm that decided most; before the first decision, the default.
  Algorithm most_used() const;
  TrafficTotals& operator+=(const TrafficTotals& other);
  friend bool operator==(const TrafficTotals&, const TrafficTotals&) = default;
};

}  // namespace weir
