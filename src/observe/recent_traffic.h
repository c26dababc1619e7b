// RecentTraffic: the last ten seconds of traffic, second by second: of this node, and of the fleet
// that shares its Redis.
//
//   Traffic, RuleCounts ──tick()──> own window ──> snapshot() ──> metrics, switches, alarms
//   what all nodes say ──hear()──> fleet's window ──┘
//
// The node's seconds come from counters that cores keep anyway: once a second the first core takes
// their growth. So a check pays nothing for it. A second in which the first core did not run counts
// as idle, and the next second has its requests.
//
// The fleet's seconds come from Redis, by its clock (store/redis/fleet/traffic_field.h). All nodes
// read the same seconds, so a second later they have the same figures. While none come, the node's
// own figures replace them. Time in which the process did not run is no silence. A node that has
// written nothing for kGoneSeconds is taken out of all sums, earlier seconds included.
//
// A fleet's window has the rules that its nodes send: the busiest 100 of the fleet, and the busiest
// 100 of each node. The node's own window has all rules.
//
// In a fleet of more than kNodesMax nodes, each node gets sums of groups, which one node has made.
// Then a node that is gone stays in the sums of earlier seconds.
//
// Thread rule: tick(), hear() and the functions next to them on the first core; snapshot() and
// rules() from any thread. Tested by recent_traffic_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/traffic.h"
#include "observe/traffic_window.h"
#include "weir/time.h"

namespace weir {

TrafficTotals totals_of(const TrafficSummary& summary);

inline constexpr Duration kTrafficSecond = std::chrono::seconds(1);  // what is counted apart

struct NodeTraffic {
  std::string name{};  // the name in Redis; empty: this node, alone
  TrafficWindow window{};
  TrafficTotals totals{};
  // How long ago it last wrote, from the fleet's newest second; 0 for a node alone.
  std::int64_t silent_seconds = 0;
};

// A fleet with too many nodes to hear of each.
struct LargeFleet {
  std::size_t nodes = 0;
  std::string first{};  // the first of their names
};

// The figures of one moment. They do not change.
struct TrafficSnapshot {
  enum class Scope : std::uint8_t {
    kNode,   // this node alone: there is no Redis, or it is away
    kFleet,  // all nodes that share the Redis
  };

  Scope scope = Scope::kNode;
  // The last second of `sum`, since 1970, by Redis's clock if there is one. A caller that acts once
  // a second acts when this has changed.
  std::int64_t newest = 0;
  Duration lead{0};  // of that clock over this node's
  // How long this node has run, idle seconds included.
  std::int64_t seconds_running = 0;
  // How many seconds of `sum` are known, at most kSeconds. Before them no node had begun yet, or
  // Redis was away. A burst compared with unknown seconds is no burst.
  std::int64_t known_seconds = 0;

  TrafficWindow sum{};  // of `nodes`
  TrafficTotals totals{};
  // Sorted by name. For a large fleet, groups; in scope kNode, only this node.
  std::vector<NodeTraffic> nodes{};
  std::optional<LargeFleet> large{};

  // This node, by its own counters.
  NodeTraffic own{};

  std::size_t node_count() const { return large ? large->nodes : nodes.size(); }
};

class RecentTraffic {
 public:
  static constexpr std::size_t kNodesMax = 128;  // a larger fleet is told in groups
  // After so long without a word, a node is gone, or Redis is away.
  static constexpr std::int64_t kGoneSeconds = 5;
  static constexpr Duration kSilenceMax = std::chrono::seconds(3);

  // `traffic` must outlive it.
  RecentTraffic(const Traffic& traffic, Instant now);

  std::shared_ptr<const TrafficSnapshot> snapshot() const;
  const RuleCounts& rules() const { return traffic_.rules(); }

  // ---- this node's seconds ----

  // If a second has ended, takes what was counted in it. If memory is short, the next tick does.
  void tick(Instant now) noexcept;
  // When the next second ends.
  Instant next_tick() const { return next_; }
  // The number of seconds that have ended.
  std::int64_t seconds() const { return seconds_; }

  // From now on seconds are those of a clock that is `lead` ahead of this node's, so that the
  // seconds of all nodes begin together.
  void set_lead(Duration lead);

  // ---- the fleet's ----

  struct NodeSecond {
    std::string name;
    TrafficSecond counts;
    TrafficTotals totals;
  };
  struct FleetSecond {
    std::int64_t second = 0;
    std::vector<NodeSecond> nodes{};
    bool has_self = false;              // whether this node is in it
    std::optional<LargeFleet> large{};  // if set, `nodes` are its groups
  };
  // Takes the counts of all nodes in a second. Ignores a second that is not later than the last.
  // Sums without this node do not stand for the fleet. If memory is short, nothing changes.
  // REQUIRES: each name comes once
  void hear(FleetSecond heard, Instant now);
  // Redis's clock has been set back.
  void forget_fleet(Instant now);

 private:
  struct Member {
    NodeTraffic traffic;
    std::int64_t last_second = 0;  // of which it sent counts
  };
  struct FleetSeconds {
    void add(FleetSecond heard);
    Member& member(const std::string& name);
    void drop_gone_members();

    std::optional<std::int64_t> newest{};
    std::optional<Instant> heard_at{};  // when this node was last among them
    std::int64_t known_seconds = 0;
    std::vector<Member> members{};  // sorted by name
    std::int64_t seconds = 0;       // how long they are the members: earlier, `sum` has others
    std::optional<LargeFleet> large{};
    TrafficWindow sum{};
  };

  Instant second_after(Instant earliest) const;
  void end_second(Instant now);
  std::shared_ptr<TrafficSecond> take_growth(Instant now);
  void publish(Instant now);

  const Traffic& traffic_;
  Duration lead_{0};
  Instant last_;  // when the last second ended, by this node's clock
  Instant next_;
  std::int64_t seconds_ = 0;
  std::vector<RuleFigures> rules_before_;  // by number; from the end of the last second
  NodeTraffic own_;                        // with totals from that moment
  FleetSeconds fleet_;

  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<const TrafficSnapshot> snapshot_;
};

}  // namespace weir
