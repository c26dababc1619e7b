// SharedStoreFigures: what the doors show of the store that this node shares with others.
//
// Thread rule: values. Tested by src/store/redis/fleet/fleet_state_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/fleet_counts.h"
#include "observe/traffic_window.h"
#include "weir/time.h"

namespace weir {

// That of all nodes that share the store; of this one alone while it is away.
struct FleetTraffic {
  bool is_alone = true;
  std::size_t nodes = 1;
  TrafficRates rates{};
  TrafficTotals totals{};
};

// The store that this node shares with others, and what passes between them.
struct SharedStoreFigures {
  bool is_healthy = false;
  std::string reason{};  // why not, or what else is wrong
  Instant since{};
  std::string_view mode{};  // for rules and calls that name none
  std::int64_t live_nodes = 1;
  FleetTraffic traffic{};
  FleetCounts counts{};
  std::vector<std::pair<std::string_view, std::uint64_t>> failures{};  // by kind
};

}  // namespace weir
