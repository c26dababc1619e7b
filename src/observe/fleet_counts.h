// FleetCounts: what a node counts of its traffic with the store that it shares.
//
// Thread rule: values. Tested by src/store/redis/fleet/fleet_state_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weir {

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

}  // namespace weir
