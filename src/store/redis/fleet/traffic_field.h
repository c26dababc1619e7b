// TrafficField: the field of a beat with which nodes add up their traffic, second by second.
//
// Redis's clock alone says what a second is. A node's word counts for the second before the one in
// which it reaches Redis. Everybody reads a second when nobody can write to it any more:
//
//   Redis's clock    |        7        |        8        |        9        |
//   counted          | ~~~~~~~~~~~~~~~ |                 |                 |
//   written to 7     |                 | x  x    x       |                 |
//   read by all      |                 |                 | x  x    x       |
//
// So nodes whose clocks differ add up the same seconds, each request counts once, and all nodes
// have the same sums. A node that is late by less than a second loses nothing. Counts that come
// later, that no answer has come for, or that were made while Redis was away are in no sum. In the
// sum of a later second they would look like a burst.
//
// A node sends its busiest kBusiestMax rules and those of the fleet's busiest that it knows.
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
#include "observe/traffic_window.h"
#include "store/redis/fleet/beat_fields.h"
#include "store/redis/fleet/fleet_state.h"

namespace weir {

// TrafficWord: what a node says in Redis of its traffic in one second, as bytes (base/packed.h).
//
//   '2'   requests, denied, 0                                   in that second
//         denied, n, n x decisions of an algorithm              since the node's start
//         n, n x (hash of the rule, requests, denied, shadow)   in that second
//
// Anybody may have written there. A text is no word if it is of another version, cut off, too long,
// or its numbers make no sense. So the sums of all nodes cannot overflow.
//
// Thread rule: pure. Tested by traffic_word_test.cc.
struct TrafficWord {
  static constexpr std::size_t kRulesMax = 200;
  static constexpr std::size_t kAlgorithmsMax = 32;  // of other versions
  // Nobody decides so much in a second, or ever.
  static constexpr std::uint64_t kSecondMax = (std::uint64_t{1} << 28) - 1;
  static constexpr std::uint64_t kTotalMax = std::uint64_t{1} << 50;

  struct Rule {
    std::uint64_t hash = 0;  // rule_hash()
    TrafficCounts counts{};
    friend bool operator==(const Rule&, const Rule&) = default;
  };

  TrafficCounts all{};
  TrafficTotals totals{};
  std::vector<Rule> rules{};  // REQUIRES: kRulesMax at most
};

std::string to_bytes(const TrafficWord& word);
std::optional<TrafficWord> traffic_word(std::string_view bytes);

class TrafficField final : public BeatField {
 public:
  static constexpr std::size_t kBusiestMax = 100;

  // `node`: its name. The others must outlive the field; `listener` hears, once for each kind,
  // of what others have written that this node cannot read.
  TrafficField(std::string node, RecentTraffic& recent, FleetListener& listener)
      : node_(std::move(node)), recent_(recent), listener_(listener) {}

  std::string_view name() const override { return "traffic"; }
  std::optional<Instant> due() const override;
  bool is_urgent() const override { return true; }
  void say(std::vector<std::string>& words, Instant now) override;
  // Never complains: a beat does its other work all the same.
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  enum class Trouble : std::uint8_t { kRefused, kUnreadable, kTooMany };

  std::string counts();
  std::vector<RuleTraffic> sent_rules(const TrafficSnapshot& known,
                                      const TrafficSecond& counted) const;
  void follow_clock(std::int64_t redis_us, Instant now);
  void learn(std::int64_t second, const resp::Reply& told, Instant now);
  RecentTraffic::NodeSecond node_second(std::string_view name, const TrafficWord& word) const;
  void warn(Trouble trouble, std::string_view why);

  const std::string node_;
  RecentTraffic& recent_;
  FleetListener& listener_;
  // This node's own seconds, counted from its start.
  std::int64_t said_ = 0;         // or dropped
  std::int64_t due_from_ = 0;     // says nothing before so many have ended
  std::int64_t last_read_ = 0;    // of the fleet's, by Redis's clock
  std::optional<Duration> lead_;  // of Redis's clock over ours
  std::array<bool, 3> warned_{};  // by Trouble
};

}  // namespace weir
