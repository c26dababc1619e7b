// SharedStoreFigures: what the doors show of the store that this node shares with others.
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

// FleetCounts: what a node counts of its traffic with the store that it shares.
//
// Thread rule: values. Tested by src/store/redis/fleet/fleet_state_test.cc.

// Their places in the row.
enum FleetCount : std::size_t {
  kStoreCalls,  // of mode strict
  kStoreCharges,
  kScriptLoads,
  kRemembered,        // denials that took no call
  kLeases,            // that the node requested
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
  Duration beat{0};          // how long Redis takes to answer one; 0: it has answered none
  std::uint64_t losses = 0;  // how often it came back without what it had
  FleetTraffic traffic{};
  std::vector<NodeAbout> others{};  // the other nodes, as they say
  std::optional<RuleHold> rules{};  // of a node that takes those of others
  FleetCounts counts{};
  std::vector<std::pair<std::string_view, std::uint64_t>> failures{};  // by kind
};

// Says what the node has with others.
inline void add_shared(NodeAbout& about, const SharedStoreFigures& shared) {
  about.mode = shared.mode;
  about.leases = static_cast<std::uint64_t>(shared.counts[kLeases]);
  about.beat = shared.beat;
  about.degraded = shared.reason;
  about.since = shared.since;
}

}  // namespace weir
