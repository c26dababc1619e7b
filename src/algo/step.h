// Step: what one request does to one key.
//
// Every algorithm is a pure function (quota, state, cost, now) -> Step: no clock, no
// allocation, no memory but its arguments. A test, a compare-exchange loop and the
// replay of an incident all get the same answer. What holds for all of them:
//
//   cost > 0   asks to spend. A denial spends nothing.
//   cost == 0  looks: denied only if the key could not even spend 0, because its limit
//              was lowered below what it has spent, or because it is in cooldown.
//   cost < 0   gives back what was spent as of `now`; always allowed. It never gives
//              back more than was spent, and where it is in doubt it gives back nothing.
//   cost > capacity   is Verdict::kNever and leaves no trace.
//
// A default-constructed state is a key that was never seen.
//
// Clocks may step back. A state up to one window ahead of `now` is believed: threads
// read their clocks a moment apart. One further ahead was written by a mistaken clock:
// it is moved to `now` with all it has spent, so that the mistake neither frees the
// key nor blocks it for more than two windows. Spending and denials store that move,
// looking and giving back do not.
//
// REQUIRES, of every decide(): |cost| <= kCostMax; `now` is from 1970 to the year 100,000.

#pragma once

#include "weir/decision.h"

namespace weir::algo {

template <typename State>
struct Step {
  State state;
  Decision decision;
  bool changed;  // false: `state` is the one that came in and need not be stored
};

}  // namespace weir::algo
