// Rollout: a rule comes to deny more and more of its keys, a step at a time. It stops by itself,
// and goes back a step, if it denies more keys than it was told.
//
//   steps  0%   ->   1%  -- every -->  10%  -- every -->  100%: done
//          ^          |  ^              |
//          '- stopped-'  '-- stopped ---'
//
// It is a part of the rule, and where it stands is the rule's own `enforce`. So each step is a
// change of the rule like any other, and nodes agree on it as they do on others. Each node watches
// a step for itself. The node whose time has come first makes the change.
//
// A node counts only the time that it has watched: kLookMax at most from one look to the next, and
// nothing while no key comes. So no pause and no clock shortens a step, and a node that has just
// begun waits for the whole of it.
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
  std::int64_t percent = 0;         // of the keys: where the rule stands
  std::vector<std::int64_t> steps;  // rising; the first is where it began
  Duration every{0};                // how long each step lasts
  double denied_max = 0;            // percent of the keys that came; more of them stop it
  std::string stopped{};            // why it has stopped; empty: it has not

  friend bool operator==(const Rollout&, const Rollout&) = default;
};

// How many different keys of the rule a node has seen in a step, and how many it has denied.
struct RolloutKeys {
  std::uint64_t seen = 0;
  std::uint64_t denied = 0;  // not in shadow
};

// How long one node has watched the step.
struct RolloutWatch {
  static constexpr Duration kLookMax = std::chrono::seconds(2);

  Instant looked{};
  Duration watched{0};
};

struct RolloutLook {
  enum class Event : std::uint8_t { kNone, kStep, kStop };

  RolloutWatch watch;
  Event event = Event::kNone;
  std::int64_t to = 0;  // the percent to go to
};

// REQUIRES: rollout.percent is a step
RolloutLook look(const Rollout& rollout, RolloutWatch watch, const RolloutKeys& keys, Instant now);

}  // namespace weir
