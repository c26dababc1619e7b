// A node in mode leased of a simulated fleet, and the fleet.
//
// Thread rule: one thread. Tested by leased_fleet_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "redis/simulated_node.h"
#include "store/redis/leased/leased_store.h"

namespace weir::testing {

inline constexpr Duration kGathered = std::chrono::milliseconds(20);  // what no check waits for

struct LeasingNode : SimulatedNode {
  static constexpr Duration kStep = kWindowMax;  // at once

  LeasingNode(SimulatedRedis& of, Duration clock_skew, std::int64_t nodes)
      : SimulatedNode(of, clock_skew),
        store({.redis = options, .share = [nodes] { return 2 * nodes; }, .keys = 64}, strict,
              sender, reactor) {
    mode = &store;
  }

  // Whether one charge is admitted; if the store has failed, it is not.
  bool spend(const Charge& charge) {
    Asked check({charge});
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

class LeasedFleet : public SimulatedFleet<LeasingNode> {
 protected:
  // In place of those before: so many, with these clocks.
  LeasingNode& start(std::initializer_list<Duration> skews) {
    nodes_.clear();
    for (const Duration skew : skews) add_node(skew, static_cast<std::int64_t>(skews.size()));
    return *nodes_[0];
  }
};

}  // namespace weir::testing
