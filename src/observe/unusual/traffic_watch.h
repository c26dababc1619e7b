// TrafficWatch: finds the unusual traffic of all rules in the seconds of RecentTraffic.
//
// One that belongs to a fleet looks at the fleet's sums only, so that all nodes find the same.
// While its Redis is away it finds nothing new: its own figures are on another scale.
//
// A second of a fleet has the busiest kFleetRules rules of all nodes in full, and others perhaps
// of some nodes only. So where there are more, the busiest are watched, and of the others nothing
// is known.
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
    TrafficSnapshot::Scope scope = TrafficSnapshot::Scope::kNode;  // whose sums to look at
    std::int64_t learn_s = UnusualTraffic::kLearnDefault;
  };
  explicit TrafficWatch(const Options& options) : options_(options) {}

  // What has begun or ended.
  struct Found {
    RuleNumber rule = kNoRuleNumber;
    UnusualTraffic::Change change = UnusualTraffic::Change::kNone;
    std::int64_t second = 0;
    UnusualTraffic traffic;
  };

  // Takes in the seconds that have finished since the last time.
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
  // One second of all rules that are watched.
  struct Second {
    std::int64_t number = 0;
    const TrafficSecond* counts = nullptr;           // null: nothing is known
    const std::vector<RuleNumber>* whole = nullptr;  // those whose counts are; null: all

    std::optional<std::uint64_t> requests_of(RuleNumber rule) const;
  };

  std::int64_t first_to_look_at(std::int64_t newest, std::vector<Found>& found);
  void pass_time(std::int64_t newest, std::vector<Found>& found);
  void add(const Second& second, std::vector<Found>& found);
  void watch_new(const Second& second);
  void begin_anew(std::int64_t newest, std::vector<Found>& found);

  const Options options_;
  std::optional<std::int64_t> last_;   // second that was looked at
  std::optional<std::int64_t> alone_;  // the last one by the node's own clock, while it is alone
  std::unordered_map<RuleNumber, Watched> rules_;
};

}  // namespace weir
