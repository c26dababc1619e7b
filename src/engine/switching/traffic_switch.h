// Chooses the algorithm of a rule that switches by its requests of the last ten seconds.
//
//   token_bucket         after a burst: much more in the last two seconds than in all ten
//   exponential_backoff  after denials that last: most of the ten seconds' requests
//   sliding_window       else
//
// The first whose condition holds is chosen. A condition that holds already has a lower threshold,
// and an algorithm stays for a dwell, so that traffic on the border switches seldom.
//
// A fleet switches together. The sum of its nodes must want the switch. So must more than half of
// the nodes that had requests of the rule, each by its own traffic. A single node sees a part of
// them, so its least rate is divided by the number of these nodes. A node with false counts can
// therefore switch no rule that others serve; it can hold up a switch.
//
// Thread rule: pure. Tested by traffic_switch_test.cc.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/settings.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// The requests of one rule in the last ten whole seconds.
struct RecentRequests {
  static constexpr Duration kSpan = std::chrono::seconds(10);
  static constexpr Duration kLatest = std::chrono::seconds(2);

  std::uint64_t all = 0;
  std::uint64_t latest = 0;  // of all requests, those in the last two seconds
  std::uint64_t denied = 0;  // of all requests

  double rate() const;  // requests a second
  double latest_rate() const;
  double burst_ratio() const;   // latest_rate() / rate(); 0 without requests
  double denied_share() const;  // 0 to 1

  RecentRequests& operator+=(const RecentRequests& other);
  friend bool operator==(const RecentRequests&, const RecentRequests&) = default;
};

// The input of a decision.
struct SwitchFigures {
  std::span<const RecentRequests> nodes;  // of each node; only this one if it is alone
  Duration watched{};                     // how long they have been counted
  Duration since_switch = Duration::max();
};

// The sum over all nodes.
RecentRequests sum_of(std::span<const RecentRequests> nodes);

// The algorithm that these requests want by themselves.
Algorithm wanted_algorithm(const RecentRequests& requests, Algorithm current,
                           const SwitchThresholds& thresholds);

// The algorithm to follow from now on; `current` if nothing changes.
Algorithm choose_algorithm(const SwitchFigures& figures, Algorithm current,
                           const SwitchThresholds& thresholds);

// The figures in words: "burst ratio 5.0, 50.0 requests/s in the last 2 s and 10.0 in the last
// 10 s, 0 % denied".
std::string figures_text(const RecentRequests& requests);

// ---- numbers of switches ----
//
// The greater number wins. Nodes that cannot hear each other may choose the same number. So a
// number contains its algorithm: number % 3. Then the same number is the same switch.

Algorithm algorithm_of_switch(std::uint32_t number);
// The next switch, to another algorithm. REQUIRES: can_be_active(to)
ActiveAlgorithm next_switch(std::uint32_t number, Algorithm to);

}  // namespace weir
