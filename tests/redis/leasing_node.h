// A node in mode leased of a simulated fleet.
//
// Thread rule: one thread. Tested by leased_fleet_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include "redis/simulated_node.h"
#include "store/redis/leased/leased_store.h"

namespace weir::testing {

struct LeasingNode : SimulatedNode {
  LeasingNode(SimulatedRedis& of, Duration clock_skew, std::int64_t nodes)
      : SimulatedNode(of, clock_skew),
        store({.redis = options, .share = [nodes] { return 2 * nodes; }, .keys = 64}, strict,
              sender, reactor) {}

  void ask(SimulatedCheck& check) {
    store.decide(check.batch, now());
    run();
  }
  // Whether one charge is admitted; if the store has failed, it is not.
  bool spend(const Charge& charge) {
    SimulatedCheck check({charge});
    const auto passed_on = store.counts()[kLeasedPassedOn];
    ask(check);
    if (check.is_allowed() && store.counts()[kLeasedPassedOn] == passed_on) spent += charge.cost;
    EXPECT_TRUE(check.is_answered());
    EXPECT_TRUE(!check.has_failed() || link.link.phase != LinkState::Phase::kConnected);
    return check.is_allowed();
  }
  std::int64_t held() const {
    return store.counts()[kLeasedGranted] - store.counts()[kLeasedReturned] -
           store.counts()[kLeasedExpired] - spent;
  }

  LeasedStore store;
  std::int64_t spent = 0;  // of what was leased
};

}  // namespace weir::testing
