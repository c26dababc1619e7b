// LeasedFleet: nodes in mode leased on one Redis, for tests.
//
// Thread rule: one thread. Tested by leased_fleet_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "redis/leasing_node.h"

namespace weir::testing {

inline constexpr Duration kGathered = std::chrono::milliseconds(20);  // what no check waits for

class LeasedFleet : public ::testing::Test {
 protected:
  static SimulatedRedis& redis() {
    static SimulatedRedis only;
    return only;
  }
  static KeyHash fresh_key() {
    static std::uint64_t made = 0;
    return {++made, made * 0x9e3779b97f4a7c15};
  }
  static std::vector<std::unique_ptr<LeasingNode>> nodes(std::vector<Duration> skews) {
    std::vector<std::unique_ptr<LeasingNode>> made;
    for (const Duration skew : skews) {
      made.push_back(std::make_unique<LeasingNode>(redis(), skew, std::ssize(skews)));
    }
    return made;
  }
  static void let_pass(std::span<const std::unique_ptr<LeasingNode>> nodes, Duration time) {
    redis().now += time;
    for (const auto& node : nodes) node->run();
  }
};

}  // namespace weir::testing
