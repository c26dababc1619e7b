// A node in mode async of a simulated fleet.
//
// Thread rule: one thread. Tested by async_fleet_test.cc, which uses it.

#pragma once

#include <chrono>
#include <optional>

#include "redis/simulated_node.h"
#include "store/redis/async/async_store.h"

namespace weir::testing {

inline constexpr Duration kInterval = std::chrono::milliseconds(100);  // of syncs

struct SyncingNode : SimulatedNode {
  SyncingNode(SimulatedRedis& of, Duration clock_skew, std::size_t keys, KeySpread key_spread)
      : SimulatedNode(of, clock_skew, key_spread),
        store({.redis = {.spread = key_spread, .own_counters = own_counters.get()},
               .interval = kInterval,
               .keys = keys},
              strict, link, reactor, listener) {}

  void ask(SimulatedCheck& check) {
    store.decide(check.batch, now());
    run();
  }
  // Whether one charge is admitted; nothing if the store has failed.
  std::optional<bool> spend(const Charge& charge) {
    SimulatedCheck check({charge});
    store.decide(check.batch, now());
    EXPECT_TRUE(check.is_answered());  // never after a trip
    run();
    if (check.has_failed()) return std::nullopt;
    return check.is_allowed();
  }

  AsyncStore store;
};

}  // namespace weir::testing
