// Rollout: lets a rule deny more and more of its keys, step by step. It stops by itself, and goes
// back one step, if it denies more keys than allowed.
//
//   steps  0%   ->   1%  -- every -->  10%  -- every -->  100%: done
//          ^          |  ^              |
//          '- stopped-'  '-- stopped ---'
//
// A rollout is a part of the rule, and its position is the rule's own `enforce`. So each step is a
// change of the rule like any other, and nodes agree on it as on other changes. Each node watches a
// step for itself. The first node whose time is up makes the change.
//
// A node counts only time in which it watched: at most kLookMax from one look to the next, and
// nothing while no key comes. So no pause and no clock shortens a step. A node that has just begun
// waits for the whole step.
//
// Thread rule: values; a pure function. Tested by rollout_test.cc.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/time.h"

namespace weir {

struct Rollout {
  std::int64_t percent = 0;         // of the keys: the current step
  std::vector<std::int64_t> steps;  // rising; the first is the beginning
  Duration every{0};                // how long each step lasts
  double denied_max = 0;            // percent of the keys that came; above it the rollout stops
  std::string stopped{};            // why it has stopped; empty: it goes on

  friend bool operator==(const Rollout&, const Rollout&) = default;
};

// How many different keys of the rule a node has seen during a step, and how many it denied.
struct RolloutKeys {
  std::uint64_t seen = 0;
  std::uint64_t denied = 0;  // not in shadow
};

// How long one node has watched a step.
struct RolloutWatch {
  static constexpr Duration kLookMax = std::chrono::seconds(2);

  Instant looked{};
  Duration watched{0};
};

struct RolloutLook {
  enum class Event : std::uint8_t { kNone, kStep, kStop };

  RolloutWatch watch;
  Event event = Event::kNone;
  std::int64_t to = 0;  // the percent of the next step
};

// REQUIRES: rollout.percent is a step
RolloutLook look(const Rollout& rollout, RolloutWatch watch, const RolloutKeys& keys, Instant now);

}  // namespace weir
