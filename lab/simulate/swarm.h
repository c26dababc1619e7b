// Swarm: many short scenarios, each drawn from a seed, on all cores.
//
// Thread rule: main's thread; it starts others, each with worlds of its own. Tested by
// simulate_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulate/run.h"

namespace weir::sim {

struct SwarmOptions {
  std::uint64_t from = 1;
  std::uint64_t seeds = 1'000;
  std::size_t threads = 1;
  Duration time_max = Duration::max();  // no seed begins after that
};

struct FailedSeed {
  std::uint64_t seed = 0;
  Violation violation{};
};

struct SwarmFigures {
  std::uint64_t done = 0;  // all seeds from the first on, without a gap
  std::uint64_t decisions = 0;
  Duration simulated{0};
  std::vector<FailedSeed> failed{};
};

// `elapsed` returns how long the swarm has run. The swarm calls `progress` now and then, on some
// thread, never twice at once.
SwarmFigures run_swarm(const SwarmOptions& options, const std::function<Duration()>& elapsed,
                       const std::function<void(const SwarmFigures&)>& progress);

}  // namespace weir::sim
