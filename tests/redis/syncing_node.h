// A node in mode async of a simulated fleet, and the fleet.
//
// Thread rule: one thread. Tested by async_fleet_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "redis/simulated_node.h"
#include "store/redis/async/async_store.h"

namespace weir::testing {

inline constexpr Duration kInterval = std::chrono::milliseconds(100);  // of syncs

struct SyncingNode : SimulatedNode {
  SyncingNode(SimulatedRedis& of, Duration clock_skew, std::size_t keys, KeySpread key_spread,
              OwedUnits* owed = nullptr)
      : SimulatedNode(of, clock_skew, key_spread),
        store({.redis = options, .interval = kInterval, .keys = keys, .owed = owed}, strict, sender,
              reactor) {}

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

// Nodes on one Redis.
class SyncingFleet : public ::testing::Test {
 protected:
  static KeyHash fresh_key() {
    static std::uint64_t made = 0;
    return {++made, made * 0x9e3779b97f4a7c15};
  }
  SyncingNode& add_node(Duration skew, std::size_t keys = 64, KeySpread spread = {}) {
    return *nodes_.emplace_back(std::make_unique<SyncingNode>(redis_, skew, keys, spread));
  }
  void let_pass(Duration time) {
    for (const Instant end = redis_.now + time; redis_.now < end;) {
      redis_.now += std::chrono::milliseconds(1);
      for (const auto& node : nodes_) node->run();
    }
  }
  // What Redis says is left of a key.
  std::int64_t left_in_redis(Charge charge) {
    SimulatedNode observer(redis_, Duration{0});
    charge.cost = 0;
    SimulatedCheck look({charge}, Operation::kLook);
    observer.strict.decide(look.batch, observer.now());
    observer.run();
    EXPECT_TRUE(look.is_answered());
    EXPECT_FALSE(look.has_failed());
    return look.decisions[0].remaining;
  }

  SimulatedRedis redis_;
  std::vector<std::unique_ptr<SyncingNode>> nodes_;
};

}  // namespace weir::testing
