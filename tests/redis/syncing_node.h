// A node in mode async of a simulated fleet, and the fleet.
//
// Thread rule: one thread. Tested by async_fleet_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "redis/simulated_node.h"
#include "store/redis/async/async_store.h"

namespace weir::testing {

inline constexpr Duration kInterval = std::chrono::milliseconds(100);  // of syncs

struct SyncingNode : SimulatedNode {
  static constexpr Duration kStep = std::chrono::milliseconds(1);

  SyncingNode(SimulatedRedis& of, Duration clock_skew, std::size_t keys = 64,
              KeySpread key_spread = {}, OwedUnits* owed = nullptr, Duration interval = kInterval,
              AsyncStoreOptions::Reach reach = AsyncStoreOptions::Reach::kNear)
      : SimulatedNode(of, clock_skew, key_spread),
        store({.redis = options, .interval = interval, .keys = keys, .reach = reach, .owed = owed},
              strict, sender, reactor) {
    mode = &store;
  }

  // Whether one charge is admitted; nothing if the store has failed.
  std::optional<bool> spend(const Charge& charge) {
    Asked check({charge});
    store.decide(check.batch, now());
    EXPECT_TRUE(check.is_answered());  // never after a trip
    run();
    if (check.has_failed()) return std::nullopt;
    return check.is_allowed();
  }

  AsyncStore store;
};

using SyncingFleet = SimulatedFleet<SyncingNode>;

}  // namespace weir::testing
