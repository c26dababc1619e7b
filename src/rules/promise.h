// Promise: how far a limit may be off at worst, by its algorithm, its mode and how many nodes share
// it. docs/reference/promises.md derives each number.
//
//   over    units above the limit that a span of a window's length may admit, at most
//   under   a unit may be denied while that many fewer than the limit were admitted in the window's
//           length before it, at most
//
// They are about checks, while the store answers and clocks do not step. What counts whether or not
// it fits comes on top. A share of a limit, on_surge or another, has the promise of its own quota.
//
// Thread rule: pure. Tested by promise_test.cc, which tries to break each.

#pragma once

#include <cstdint>

#include "rules/mode.h"
#include "weir/quota.h"

namespace weir {

struct Promise {
  std::int64_t over = 0;
  std::int64_t under = 0;

  friend bool operator==(const Promise&, const Promise&) = default;
};

// REQUIRES: nodes >= 1
Promise promise_of(const Quota& quota, Mode mode, std::int64_t nodes);

// A precise key (docs/reference/promises.md#precise-keys) of one node. Within a window,
// promise_of() holds. This is of spans that are a grain shorter (`over`) or longer (`under`).
// REQUIRES: a sliding_window whose two counts fit into a slot (docs/internals/memory_store.md)
inline constexpr std::int64_t kGrains = 256;  // of a window
Promise precise_promise_of(const Quota& quota);
Duration precise_grain(const Quota& quota);

// How many units a window never_over admits, on average, of a client that always asks.
std::int64_t steady_units(const Quota& quota);

}  // namespace weir
