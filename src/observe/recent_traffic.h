// RecentTraffic: the last ten seconds of traffic, second by second: this node's, and that of
// the fleet which shares its Redis.
//
//   Traffic, RuleCounts ──tick()──> own window ──> snapshot() ──> metrics, switches, alarms
//   what all nodes say ──hear()──> fleet's window ──┘
//
// The node's seconds come from the counters that cores keep anyway: once a second the first
// core takes how much they have grown. So a check pays nothing for it. A second in which the
// first core did not run counts as idle, and the next one has its requests.
//
// The fleet's seconds come from Redis, by its clock (store/redis/fleet/traffic_field.h), and all
// nodes read the same ones: the same figures a second later. While nothing comes, the node's own
// figures stand in their place; time in which the process did not run is no silence. A node that
// has written nothing for kGoneSeconds is taken out of the sums, also out of the seconds before.
//
// A fleet's window has the rules that its nodes send: the busiest 100 of the fleet, and the
// busiest 100 of each node. The node's own window has them all.
//
// Of a fleet of more than kNodesMax nodes each node hears sums of groups, which one of them has
// made. Then a node that is gone stays in the sums of earlier seconds.
//
// Thread rule: tick(), hear() and what is named with them on the first core; snapshot() and rules()
// from any thread. Tested by recent_traffic_test.cc.

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

struct NodeTraffic {
  std::string name{};  // as it is in Redis; empty: this node, alone
  TrafficWindow window{};
  TrafficTotals totals{};
  // Since the last second that it has written, by the fleet's newest; 0 of one alone.
  std::int64_t silent_seconds = 0;
};

// A fleet of more nodes than are heard of one by one.
struct LargeFleet {
  std::size_t nodes = 0;
  std::string first{};  // of their names
};

// The figures of one moment. Does not change.
struct TrafficSnapshot {
  enum class Scope : std::uint8_t {
    kNode,   // alone: there is no Redis, or it is away
    kFleet,  // of all nodes that share the Redis
  };

  Scope scope = Scope::kNode;
  // Which second is the last one of `sum`, since 1970, by Redis's clock if there is one. A caller
  // that acts once a second acts when this has changed.
  std::int64_t newest = 0;
  Duration lead{0};  // of that clock over ours
  // For how long this node has run; idle seconds count.
  std::int64_t seconds_running = 0;
  // How many seconds of `sum` are known, kSeconds at most: in those before, nobody had begun
  // yet, or Redis was away. A burst that is measured against them is none.
  std::int64_t known_seconds = 0;

  TrafficWindow sum{};  // of `nodes`
  TrafficTotals totals{};
  // By name; groups of a large fleet. In scope kNode, this node only.
  std::vector<NodeTraffic> nodes{};
  std::optional<LargeFleet> large{};

  // This node, by its own counters.
  NodeTraffic own{};

  std::size_t node_count() const { return large ? large->nodes : nodes.size(); }
};

class RecentTraffic {
 public:
  static constexpr std::size_t kNodesMax = 128;  // more are heard of in groups
  // Without a word for so long, a node is gone, and Redis is away.
  static constexpr std::int64_t kGoneSeconds = 5;
  static constexpr Duration kSilenceMax = std::chrono::seconds(3);

  // `traffic` must outlive it.
  RecentTraffic(const Traffic& traffic, Instant now);

  std::shared_ptr<const TrafficSnapshot> snapshot() const;
  const RuleCounts& rules() const { return traffic_.rules(); }

  // ---- this node's seconds ----

  // Takes in what has been counted since the last time, if a second has ended. Without memory
  // for it the next tick does.
  void tick(Instant now) noexcept;
  // When the next second ends.
  Instant next_tick() const { return next_; }
  // How many have ended.
  std::int64_t seconds() const { return seconds_; }

  // Seconds are those of a clock that is so far ahead of ours. So the seconds of all nodes
  // begin together.
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
    bool has_self = false;              // this node is in it
    std::optional<LargeFleet> large{};  // then `nodes` are groups of it
  };
  // Takes in what nodes have counted in a second. One that is not later than the last is
  // ignored; sums without this node do not stand for the fleet. Without memory for them nothing
  // has happened. REQUIRES: no name comes twice
  void hear(FleetSecond heard, Instant now);
  // Redis's clock has been set back.
  void forget_fleet(Instant now);

 private:
  struct Member {
    NodeTraffic traffic;
    std::int64_t last_second = 0;  // of which it has sent something
  };
  struct FleetSeconds {
    void add(FleetSecond heard);
    Member& member(const std::string& name);
    void drop_gone_members();

    std::optional<std::int64_t> newest{};
    std::optional<Instant> heard_at{};  // with this node among them
    std::int64_t known_seconds = 0;
    std::vector<Member> members{};  // by name
    std::int64_t seconds = 0;       // for which they are members: before, `sum` has others
    std::optional<LargeFleet> large{};
    TrafficWindow sum{};
  };

  Instant second_after(Instant earliest) const;
  void end_second(Instant now);
  std::shared_ptr<TrafficSecond> take_growth(Instant now);
  void publish(Instant now);

  const Traffic& traffic_;
  Duration lead_{0};
  Instant last_;  // when the last second ended, on our clock
  Instant next_;
  std::int64_t seconds_ = 0;
  std::vector<RuleFigures> rules_before_;  // by number, when the last second ended
  NodeTraffic own_;                        // its totals are of that moment, too
  FleetSeconds fleet_;

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const TrafficSnapshot> snapshot_;
};

}  // namespace weir
