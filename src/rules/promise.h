// Promise: how far a limit may be off at worst, by its algorithm, its mode and how many nodes share
// it. docs/reference/promises.md derives each number.
//
//   over    units above the limit that a span of a window's length may admit, at most
//   under   a unit may be denied while that many fewer than the limit were admitted in the window's
//           length before it, at most
//
// They are about checks, while the store answers and clocks do not step. Units that always count
// come on top. A share of a limit, as by on_surge, has the promise of its own quota.
//
// over_now() says how much of it is due to sharing, at this moment, as long as no key is asked for
// faster than recently. A period of syncs is P, a trip t, and no key gets more than g units within
// P. Each node has one or more stores; each store has its own copies.
//
//   A unit is in Redis P + t after it was admitted, unless its node's link is cut. Then the node is
//   silent, and nobody knows what it has admitted since P + t before its last word. A copy in use
//   left Redis at most P + t ago, or P before the oldest sync still under way set out: it is at
//   most `known` old. A node may have been silent then, and have told since. So what a copy lacks
//   came within
//     span = max(silence, known + silence before) + P + t
//   A store that did not use the key for a while has an old copy. It admits units until its sync is
//   back, P + t later; then it knows that the limit is reached. At worst each store but one does
//   this when all others already deny.
//   All stores of calm keys together leave 1 / kUntoldPart of the limit unpushed.
//
// Syncs divide time into pieces of P, with at most g units each. A span need not begin with a sync,
// so it touches one piece more than fit into it. If a trip takes longer than half an interval, a
// sync leaves one trip after the sync before: P is then the sum of both.
//
// Thread rule: pure. Tested by promise_test.cc, which tries to break each promise.

#pragma once

#include <cstdint>
#include <optional>

#include "rules/mode.h"
#include "weir/quota.h"

namespace weir {

struct Promise {
  std::int64_t over = 0;
  std::int64_t under = 0;

  friend bool operator==(const Promise&, const Promise&) = default;
};

// Whether nodes that decide by copies copy counts of the algorithm. They copy an adaptive quota's
// while its active algorithm's are.
constexpr bool is_copied(Algorithm algorithm) {
  return algorithm != Algorithm::kSlidingLog && algorithm != Algorithm::kExponentialBackoff;
}

// `counters`: the nodes, or their stores if these have copies. REQUIRES: counters >= 1
Promise promise_of(const Quota& quota, Mode mode, std::int64_t counters);

// What a node knows, at one moment, of the nodes that share its limits.
struct SharingFacts {
  // The part of a calm key's limit that all stores together may leave unpushed. A key that gets
  // half of its limit in 300 intervals gets more than this in one.
  static constexpr std::int64_t kUntoldPart = 768;

  std::int64_t nodes = 1;      // heard of within a minute
  std::int64_t stores = 1;     // of these nodes
  bool is_whole = true;        // Redis answers this node, and no other is silent for seconds
  Duration period{1};          // P > 0
  Duration trip{0};            // the longest one lately
  Duration silence{0};         // since the oldest of the nodes' last words; max(): none yet
  Duration silence_before{0};  // the longest in the last second
  Duration late{0};            // since the oldest sync under way left; 0: no sync is
  // How much longer the units count that nodes admitted alone. 0: not at all, or they still do so.
  Duration apart{0};
  // The most units that a key got lately within a period. Nothing or 0: none came, so nobody knows
  // how fast the next key will be asked for.
  std::optional<std::int64_t> busiest{};
};

inline Promise promise_of(const Quota& quota, Mode mode, const SharingFacts& facts) {
  return promise_of(quota, mode, has_copies(mode) ? facts.stores : facts.nodes);
}

// How many units more than one common counter the nodes may admit for a key at this moment.
// Nothing: unknown, as nodes without their Redis allow everything. REQUIRES: not kLocal
std::optional<std::int64_t> over_now(const Quota& quota, Mode mode, OnStoreFailure on_failure,
                                     const SharingFacts& facts);

// For a precise key (docs/reference/promises.md#precise-keys) of one node, and for spans that are a
// grain shorter (`over`) or longer (`under`) than the window. In a window promise_of() holds.
// REQUIRES: a sliding_window whose two counts fit into a slot (docs/internals/memory_store.md)
inline constexpr std::int64_t kGrains = 256;  // of a window
Promise precise_promise_of(const Quota& quota);
Duration precise_grain(const Quota& quota);

// How many units a window never_over admits, on average, to a client that always asks.
std::int64_t steady_units(const Quota& quota);

}  // namespace weir
