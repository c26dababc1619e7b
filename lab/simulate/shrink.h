// Shrink: a scenario that breaks a promise, made smaller while it still breaks the same one.
//
// Faults, sources of traffic, rules, nodes and steps go one by one, the length is halved, numbers
// become plain. Only what the failure needs remains.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "simulate/scenario.h"

namespace weir::sim {

struct Shrunk {
  Scenario scenario{};
  std::size_t runs = 0;
};

// REQUIRES: the scenario breaks `promise` with this seed
Shrunk shrink(const Scenario& scenario, std::uint64_t seed, const std::string& promise,
              std::size_t runs_max);

}  // namespace weir::sim
