// FleetRoster: the nodes that this node has heard of, silent ones included.
//
// A node that is silent for kGoneSeconds of the fleet's is gone, and stays in the roster: it has
// died, or has lost its way to Redis. A node that said goodbye is struck off. While Redis is away
// nobody knows how the others are, and no time passes for them. A new node is told of when it has
// said its name, or kGoneSeconds later. If it has the title and the address of a silent node, it is
// that node, started again, and replaces it; without addresses, it must have come since. A large
// fleet is heard in groups: then the roster knows no node.
//
// Thread rule: one owner. Tested by fleet_roster_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "observe/node_about.h"
#include "observe/recent_traffic.h"
#include "observe/rule_hold.h"
#include "weir/time.h"

namespace weir {

class FleetRoster {
 public:
  static constexpr std::int64_t kGoneSeconds = RecentTraffic::kGoneSeconds;
  static constexpr std::size_t kGoneMax = 64;  // those gone for longest are forgotten

  enum class Change : std::uint8_t { kJoined, kRestarted, kReturned, kLeft, kGone };
  struct News {
    Change change;
    std::string node;
    std::string title{};  // empty: unknown
  };
  // Takes in the fleet's last second, if it is new. `alive`: the nodes that Redis counts as alive,
  // empty: unknown; a node that has died is among them for some seconds. `abouts`: the nodes' words
  // on themselves.
  std::vector<News> look(const TrafficSnapshot& traffic, std::span<const NodeAbout> abouts,
                         std::span<const RuleHold::Node> alive);

  // A node that was not heard in the last seconds.
  struct Absent {
    std::string name{};
    Instant seen{};        // the end of the last second with a word of it
    bool is_gone = false;  // else unknown yet, or Redis is away
    NodeAbout about{};     // as it last said
  };
  std::vector<Absent> absent(const TrafficSnapshot& traffic, std::string_view own) const;

 private:
  struct Known : Absent {
    Instant first{};          // the end of the first second with a word of it
    std::int64_t silent = 0;  // seconds of the fleet
    std::int64_t untold = 0;  // seconds left for its name to come, before its joining is told
    bool has_left = false;
    bool is_heir = false;  // it has replaced a node
  };
  static bool replaces(const Known& one, const Known& other);
  void hear(const TrafficSnapshot& traffic, std::span<const RuleHold::Node> alive,
            std::vector<News>& news);
  void forget_some();

  std::int64_t newest_ = 0;
  std::map<std::string, Known, std::less<>> nodes_;
};

}  // namespace weir
