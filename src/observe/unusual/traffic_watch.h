// TrafficWatch: finds the unusual traffic of all rules in the seconds of RecentTraffic.
//
// In a fleet it looks only at the fleet's sums, so that all nodes find the same. While its Redis is
// away it finds nothing new: the node's own figures have another scale.
//
// A second of a fleet has complete counts of the busiest kFleetRules rules of all nodes; counts of
// other rules may lack some nodes. So if there are more rules, the busiest are watched, and the
// others are unknown.
//
// Thread rule: one owner. Tested by traffic_watch_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "observe/recent_traffic.h"
#include "observe/rule_counts.h"
#include "observe/unusual/unusual_traffic.h"

namespace weir {

class TrafficWatch {
 public:
  static constexpr std::size_t kRulesMax = 4'096;   // 4 MB; further rules are not watched
  static constexpr std::size_t kFleetRules = 100;   // as many as a node sends
  static constexpr std::int64_t kIdleMax = 86'400;  // seconds until a rule is forgotten

  struct Options {
    TrafficSnapshot::Scope scope = TrafficSnapshot::Scope::kNode;  // whose sums it watches
    std::int64_t learn_s = UnusualTraffic::kLearnDefault;
  };
  explicit TrafficWatch(const Options& options) : options_(options) {}

  // A beginning or an end.
  struct Found {
    RuleNumber rule = kNoRuleNumber;
    UnusualTraffic::Change change = UnusualTraffic::Change::kNone;
    std::int64_t second = 0;
    UnusualTraffic traffic;
  };

  // Takes the seconds that have finished since the last call.
  std::vector<Found> look(const TrafficSnapshot& snapshot);
  bool is_unusual(RuleNumber rule) const {
    const auto found = rules_.find(rule);
    return found != rules_.end() && found->second.traffic.is_unusual();
  }

 private:
  struct Watched {
    UnusualTraffic traffic;
    std::int64_t last_request = 0;  // second
  };
  // One second of all watched rules.
  struct Second {
    std::int64_t number = 0;
    const TrafficSecond* counts = nullptr;           // null: nothing is known
    const std::vector<RuleNumber>* whole = nullptr;  // rules with complete counts; null: all

    std::optional<std::uint64_t> requests_of(RuleNumber rule) const;
  };

  std::int64_t first_to_look_at(std::int64_t newest, std::vector<Found>& found);
  void pass_time(std::int64_t newest, std::vector<Found>& found);
  void add(const Second& second, std::vector<Found>& found);
  void watch_new(const Second& second);
  void begin_anew(std::int64_t newest, std::vector<Found>& found);

  const Options options_;
  std::optional<std::int64_t> last_;   // last second that was watched
  std::optional<std::int64_t> alone_;  // same, by this node's clock, while it is alone
  std::unordered_map<RuleNumber, Watched> rules_;
};

}  // namespace weir
