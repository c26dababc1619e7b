// FleetRoster: the nodes that this one has heard of, those that are silent among them.
//
// A node that is silent for kGoneSeconds of the fleet's is gone, and stays in the roster: it has
// died, or has lost its way to Redis. One that said goodbye is struck off. While Redis is away
// nobody knows how the others are, and no time passes for them. One that joins is told of when it
// has said its name, or kGoneSeconds later. One that talks under the title and the address of
// another that is silent is that node, started again, and replaces it; without addresses, one that
// came since does. Of a large fleet, of which groups are heard, the roster knows no node.
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
  static constexpr std::size_t kGoneMax = 64;  // the longest gone are forgotten

  enum class Change : std::uint8_t { kJoined, kRestarted, kReturned, kLeft, kGone };
  struct News {
    Change change;
    std::string node;
    std::string title{};  // empty: unknown
  };
  // Takes in the fleet's last second, if it is a new one. `alive`: the nodes that Redis counts as
  // alive, empty: unknown; one that has died is among them for some seconds. `abouts`: what
  // they say.
  std::vector<News> look(const TrafficSnapshot& traffic, std::span<const NodeAbout> abouts,
                         std::span<const RuleHold::Node> alive);

  // One that the last seconds have nothing of.
  struct Absent {
    std::string name{};
    Instant seen{};        // the end of the last second in which it was heard
    bool is_gone = false;  // else nobody knows yet, or Redis is away
    NodeAbout about{};     // as it said last
  };
  std::vector<Absent> absent(const TrafficSnapshot& traffic, std::string_view own) const;

 private:
  struct Known : Absent {
    Instant first{};          // the end of the first one
    std::int64_t silent = 0;  // seconds of the fleet
    std::int64_t untold = 0;  // seconds that its name has left to come, before its joining is told
    bool has_left = false;
    bool is_heir = false;  // it has replaced one
  };
  static bool replaces(const Known& one, const Known& other);
  void hear(const TrafficSnapshot& traffic, std::span<const RuleHold::Node> alive,
            std::vector<News>& news);
  void forget_some();

  std::int64_t newest_ = 0;
  std::map<std::string, Known, std::less<>> nodes_;
};

}  // namespace weir
