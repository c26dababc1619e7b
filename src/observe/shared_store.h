// SharedStoreFigures: the figures that doors show about the store this node shares with others.
//
// Thread rule: values. Tested by src/store/redis/fleet/fleet_state_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/node_about.h"
#include "observe/rule_hold.h"
#include "observe/traffic_window.h"
#include "weir/time.h"

namespace weir {

// FleetCounts: a node's counts of its traffic with the store that it shares.
//
// Thread rule: values. Tested by src/store/redis/fleet/fleet_state_test.cc.

// The places of counters in the row.
enum FleetCount : std::size_t {
  kStoreCalls,  // in mode strict
  kStoreCharges,
  kScriptLoads,
  kRemembered,        // denials that took no call
  kLeases,            // requested by the node
  kLeasedGranted,     // units
  kLeasedReturned,    // units that went back; some may have come too late
  kLeasedExpired,     // units lost unspent
  kLeasedFromMemory,  // batches
  kLeasedWaited,      // batches
  kLeasedPassedOn,    // batches, to the strict store
  kAsyncFromMemory,   // batches
  kAsyncPassedOn,     // batches, to the strict store
  kAsyncMerged,       // states that came back
  kAsyncForgotten,    // units of kAsyncAlone that expired or found no room
  kAsyncPushes,       // keys that syncs pushed
  kAsyncPushed,       // units that the store has charged
  kAsyncAlone,        // units admitted while the store was away, in all modes
  kFleetCountEnd,
};

using FleetCounts = std::array<std::int64_t, kFleetCountEnd>;

template <typename Row>
void add_to(Row& sum, const Row& row) {
  std::ranges::transform(sum, row, sum.begin(), std::plus());
}

// Of all nodes that share the store; only of this node while the store is away.
struct FleetTraffic {
  bool is_alone = true;
  std::size_t nodes = 1;
  TrafficRates rates{};
  TrafficTotals totals{};
};

// The shared store, and the traffic with it.
struct SharedStoreFigures {
  bool is_healthy = false;
  std::string reason{};  // why it is not healthy, or what else is wrong
  Instant since{};
  std::string_view mode{};  // for rules and calls that name none
  std::int64_t live_nodes = 1;
  Duration beat{0};          // Redis's time to answer one; 0: no answer yet
  std::uint64_t losses = 0;  // how often it came back without its data
  FleetTraffic traffic{};
  std::vector<NodeAbout> others{};  // other nodes, as they say
  std::optional<RuleHold> rules{};  // if the node takes rules from other nodes
  FleetCounts counts{};
  std::vector<std::pair<std::string_view, std::uint64_t>> failures{};  // by kind
};

// Adds to `about` what the node shares with others.
inline void add_shared(NodeAbout& about, const SharedStoreFigures& shared) {
  about.mode = shared.mode;
  about.leases = static_cast<std::uint64_t>(shared.counts[kLeases]);
  about.beat = shared.beat;
  about.degraded = shared.reason;
  about.since = shared.since;
}

}  // namespace weir
