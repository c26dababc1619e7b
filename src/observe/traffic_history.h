// TrafficHistory: the traffic of the last day, in steps. Older steps are longer.
//
//   RecentTraffic ──keep(), once a second──> 600 of 1 s, 360 of 10 s, 1,440 of a minute
//                                                └──last(span)──> charts
//
// Each second of the fleet, or of this node while it is alone, is in it once and at its own time. A
// second that comes late is left out: its time already has the node's own counts.
//
// Times are by the node's clock, which never steps. A reader of them adds the wall clock's lead
// at that moment. So if the wall clock is set, the whole history moves at once.
//
// When Redis is lost or comes back, a step ends early: it is either the fleet's or the node's.
//
// A step keeps the kRulesMax rules that denied most in it; among equals, those with the most
// requests. `others` has the sums of the other rules. All steps together take at most kMemoryMax; a
// node with ten busy rules takes 1.5 MiB.
//
// Thread rule: one thread at a time. Tested by traffic_history_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "observe/latency_counts.h"
#include "observe/recent_traffic.h"
#include "weir/time.h"

namespace weir {

class TrafficHistory {
 public:
  struct Step {
    Instant end{};             // when its last second ended
    std::size_t seconds = 0;   // seconds in the step
    std::size_t nodes = 0;     // in the second with the fewest
    bool is_alone = false;     // only this node counted, in all its seconds or none
    TrafficSecond counts{};    // its rules: the kRulesMax that denied most
    TrafficCounts others{};    // of the other rules
    LatencyFigures latency{};  // of this node's answers

    void shorten();
  };
  struct Tier {
    Duration step;
    std::size_t steps_max;
    std::deque<Step> steps{};  // oldest first; the last one is not full yet
  };
  // Denials of a rule without a pause of kPause.
  struct Run {
    Instant first{};            // when the second of its first denial began
    Instant last{};             // when the second of its last denial ended
    bool may_be_older = false;  // less than kPause before it is known of all nodes
  };

  static constexpr std::size_t kRulesMax = 100;
  static constexpr Duration kPause = std::chrono::minutes(1);
  static constexpr std::size_t kStepsMax = 600 + 360 + 1'440;
  static constexpr std::size_t kMemoryMax = std::size_t{13} << 20;

  // Takes the new seconds. `latency`: of the last ten seconds.
  void keep(const TrafficSnapshot& traffic, const LatencyFigures& latency);

  // The steps of the last `span`, the oldest first, and the length of a step.
  // REQUIRES: at most a day
  struct Span {
    Duration step{};
    std::vector<const Step*> steps{};  // valid until keep()
  };
  Span last(Duration span) const;

  // The rule's latest run of denials, if it has denied.
  std::optional<Run> run(RuleNumber rule) const;

 private:
  void add(const TrafficSecond& second, Step about);
  void note_begin(const Step& about);

  std::optional<Instant> begun_{};        // all is known since then, of this node or the fleet
  std::optional<Instant> alone_since_{};  // empty: it is not alone
  std::optional<Instant> newest_{};       // when the last second in it ended
  LatencyFigures latency_{};              // since then
  std::array<Tier, 3> tiers_{{{std::chrono::seconds(1), 600},
                              {std::chrono::seconds(10), 360},
                              {std::chrono::minutes(1), 1'440}}};
  std::vector<Run> runs_{};  // by rules' numbers
};

// The rules of the steps, those that denied most first, with their counts in steps like the last
// one: of the fleet, or of this node alone. `others` has the counts of the rules left out, in the
// steps or here.
struct DenyingRules {
  std::vector<RuleTraffic> rules{};
  TrafficCounts others{};
  std::unordered_map<RuleNumber, std::uint64_t> apart{};  // denied in the other steps
};
DenyingRules rules_of(const TrafficHistory::Span& span);

}  // namespace weir
