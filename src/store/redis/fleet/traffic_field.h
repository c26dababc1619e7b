// TrafficField: the field of a beat with which nodes add up their traffic, second by second.
//
// Redis's clock alone says what a second is. A node's word counts for the second before the one in
// which it reaches Redis. Nodes read a second when no node can write to it any more:
//
//   Redis's clock    |        7        |        8        |        9        |
//   counted          | ~~~~~~~~~~~~~~~ |                 |                 |
//   written to 7     |                 | x  x    x       |                 |
//   read by all      |                 |                 | x  x    x       |
//
// So nodes whose clocks differ add up the same seconds, each request counts once, and all nodes
// have the same sums. A node that is late by less than a second loses nothing. No sum includes
// counts that come later, that Redis has not answered, or that were made while Redis was away. In
// the sum of a later second they would look like a burst.
//
// In a fleet of more than RecentTraffic::kNodesMax nodes one node adds up a second for all, when no
// node can write to it any more. The first node that asks for the sum does, or another one if that
// takes too long. A node that asks before the sum is there asks again, or hears it with the next.
//
//   Redis's clock    |        7        |        8        |        9        |       10        |
//   written to 7     |                 | x  x    x       |                 |                 |
//   added up         |                 |                 | xx              |                 |
//   read by all      |                 |                 |     x   x     x | x  x            |
//
// A node sends its busiest kBusiestMax rules, and the fleet's busiest rules that it knows.
//
// Thread rule: one core of the node. Tested by traffic_field_test.cc and tests/e2e.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/recent_traffic.h"
#include "store/redis/fleet/beat_fields.h"
#include "store/redis/fleet/fleet_state.h"
#include "store/redis/fleet/traffic_word.h"

namespace weir {

class TrafficField final : public BeatField {
 public:
  static constexpr std::size_t kBusiestMax = 100;

  // `node`: its name. The others must outlive the field; `listener` hears once for each kind of
  // word of others that this node cannot read.
  TrafficField(std::string node, RecentTraffic& recent, const FleetListener& listener)
      : node_(std::move(node)), recent_(recent), listener_(listener) {}

  std::string_view name() const override { return "traffic"; }
  std::optional<Instant> due() const override;
  bool is_urgent() const override { return true; }
  void say(std::vector<std::string>& words, Instant now) override;
  // Never complains: the beat's other work goes on all the same.
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  enum class Trouble : std::uint8_t { kRefused, kUnreadable };

  // A second that this node is adding up.
  struct Adding {
    std::int64_t second = 0;  // by Redis's clock
    std::string from;         // where to read on; empty: it has read all
    TrafficAdder adder{};
  };

  std::string counts();
  std::vector<RuleTraffic> sent_rules(const TrafficSnapshot& known,
                                      const TrafficSecond& counted) const;
  void follow_clock(std::int64_t redis_us, Instant now);
  void add_piece(const resp::Reply& told);
  void learn(std::int64_t second, const resp::Reply& told, Instant now);
  std::optional<TrafficWord> read_word(std::string_view bytes);
  void learn_sum(std::string_view bytes, RecentTraffic::FleetSecond& heard);
  RecentTraffic::NodeSecond node_second(std::string_view name, const TrafficWord& word) const;
  void warn(Trouble trouble, std::string_view why);

  const std::string node_;
  RecentTraffic& recent_;
  const FleetListener& listener_;
  // This node's own seconds, counted from its start.
  std::int64_t said_ = 0;           // said or dropped up to this one
  std::int64_t due_from_ = 0;       // nothing to say before so many have ended
  Instant again_ = Instant::max();  // when it says, or looks whether a sum is there
  std::int64_t last_read_ = 0;      // of the fleet's, by Redis's clock
  std::int64_t taken_ = 0;          // the last for which Redis has taken this node's word
  std::optional<Adding> adding_;
  std::optional<Duration> lead_;  // of Redis's clock over ours
  std::array<bool, 2> warned_{};  // by Trouble
};

}  // namespace weir
