// TrafficHistory: the traffic of the last day, in steps that are longer the older they are.
//
//   RecentTraffic ──keep(), once a second──> 600 of 1 s, 360 of 10 s, 1,440 of a minute
//                                                └──last(span)──> charts
//
// Each second of the fleet, or of this node while it is alone, is in it once and at its own time. A
// second that is heard of late is left out: its time has the node's own counts already.
//
// Times are those of the node's clock, which never steps. Who tells them adds how far the wall
// clock is ahead at that moment, so a wall clock that is set moves all of the history at once.
//
// Where Redis is lost or comes back a step ends early, so a step is of the fleet or of the node.
//
// A step keeps the kRulesMax rules that denied most in it, and among equals those with most
// requests. What the others had is in `others`. All together take kMemoryMax at most; a node with
// ten busy rules takes 1.5 MiB.
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
    Instant end{};             // of the last second that is in it
    std::size_t seconds = 0;   // that are in it
    std::size_t nodes = 0;     // of the second with the fewest
    bool is_alone = false;     // all of it counted by this node alone, or none
    TrafficSecond counts{};    // its rules: the kRulesMax that denied most
    TrafficCounts others{};    // of further rules
    LatencyFigures latency{};  // of this node's answers

    void shorten();
  };
  struct Tier {
    Duration step;
    std::size_t steps_max;
    std::deque<Step> steps{};  // oldest first; the last one is not full yet
  };
  // Denials of a rule that no pause of kPause interrupts.
  struct Run {
    Instant first{};            // when the second of the first one began
    Instant last{};             // when that of the last one ended
    bool may_be_older = false;  // less than kPause is known of before it, of all nodes
  };

  static constexpr std::size_t kRulesMax = 100;
  static constexpr Duration kPause = std::chrono::minutes(1);
  static constexpr std::size_t kStepsMax = 600 + 360 + 1'440;
  static constexpr std::size_t kMemoryMax = std::size_t{13} << 20;

  // Takes in the seconds that are new. `latency`: of the ten seconds that have ended last.
  void keep(const TrafficSnapshot& traffic, const LatencyFigures& latency);

  // The steps of the last so many seconds, the oldest first, and how long each is. REQUIRES: a day
  // at most
  struct Span {
    Duration step{};
    std::vector<const Step*> steps{};  // until keep()
  };
  Span last(Duration span) const;

  // The latest run of denials of the rule, if it has denied.
  std::optional<Run> run(RuleNumber rule) const;

 private:
  void add(const TrafficSecond& second, Step about);
  void note_begin(const Step& about);

  std::optional<Instant> begun_{};        // since then all is known, of this node or the fleet
  std::optional<Instant> alone_since_{};  // nothing: it is not
  std::optional<Instant> newest_{};       // when the last second in it ended
  LatencyFigures latency_{};              // since then
  std::array<Tier, 3> tiers_{{{std::chrono::seconds(1), 600},
                              {std::chrono::seconds(10), 360},
                              {std::chrono::minutes(1), 1'440}}};
  std::vector<Run> runs_{};  // by rule
};

// The rules of the steps, those that denied most first, and what they had in the steps like the
// last one: of the fleet, or of this node alone. `others` has what those had that are left out, in
// the steps or here.
struct DenyingRules {
  std::vector<RuleTraffic> rules{};
  TrafficCounts others{};
  std::unordered_map<RuleNumber, std::uint64_t> apart{};  // denied in the other steps
};
DenyingRules rules_of(const TrafficHistory::Span& span);

}  // namespace weir
