// One run of a scenario: its outcome, as data and as text.
//
// Thread rule: any; a run is on one thread. Tested by simulate_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulate/scenario.h"
#include "simulate/tally.h"
#include "simulate/timeline.h"
#include "simulate/world.h"

namespace weir::sim {

struct Outcome {
  std::optional<Violation> violation{};
  Tally tally{};
  std::vector<std::string> rules{};  // their ids
  std::uint64_t events = 0;
  std::uint64_t packets = 0;
  std::uint64_t redis_commands = 0;
};

// A seed, and the build for which it means a run: "7" or "7@0123abcd".
struct Seed {
  std::uint64_t number = 0;
  std::string build{};  // empty: not said

  static std::optional<Seed> parse(std::string_view text);
};

// Tells builds of this program apart: a seed means the same run only in one build.
const std::string& build_id();

// If a scenario's rules cannot be read, the violation is "readable". `timeline` may be null.
Outcome run(const Scenario& scenario, std::uint64_t seed, Timeline* timeline);

std::string to_text(const Outcome& outcome, const Scenario& scenario, std::uint64_t seed);

}  // namespace weir::sim
