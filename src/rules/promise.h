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
// over_now() says what of it is due to sharing, at this moment, as long as no key is asked for
// faster than of late. A period of syncs is P, a trip t, and no key gets more than g units within
// P. Each node has one or more stores; a store has copies of its own.
//
//   A unit is in Redis P + t after it was admitted, unless its node's link is cut. Then the node is
//   silent, and nobody knows of what it has admitted since its last word, P and t before.
//   A copy that is in use left Redis P + t ago at most, or P before the oldest sync set out that is
//   still under way: it is `known` old at most. A node may have been silent then, and have told
//   since. So what a copy lacks came within
//     span = max(silence, known + silence before) + P + t
//   A store that did not use the key for a while has an old copy. It admits what comes to it until
//   its sync is back, P + t later, and knows then that the limit is reached. At worst each store
//   but one does so when all others deny already.
//   Stores of calm keys leave 1 / kUntoldPart of the limit unpushed, all together.
//
// Syncs divide time into pieces of P, with g units each at most. They need not begin with the span,
// so it touches one more of them than fit into it. If a trip takes longer than half an interval, a
// sync leaves a trip after the one before: P is both together then.
//
// Thread rule: pure. Tested by promise_test.cc, which tries to break each.

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

// `counters`: the nodes; if they have copies, their stores. REQUIRES: counters >= 1
Promise promise_of(const Quota& quota, Mode mode, std::int64_t counters);

// What a node knows, at a moment, of those that share its limits.
struct SharingFacts {
  // The part of its limit that all stores together may leave unpushed of a calm key. If half of the
  // limit comes in 300 intervals, more comes in one.
  static constexpr std::int64_t kUntoldPart = 768;

  std::int64_t nodes = 1;      // heard of within a minute
  std::int64_t stores = 1;     // of these nodes
  bool is_whole = true;        // Redis answers this node, and no other is silent for seconds
  Duration period{1};          // P > 0
  Duration trip{0};            // the longest of late
  Duration silence{0};         // since the oldest of the nodes' last words; max(): none was heard
  Duration silence_before{0};  // the longest of the last second
  Duration late{0};            // since the oldest sync under way left; 0: none is
  // How much longer what nodes decided alone counts. 0: it does not, or they still decide alone.
  Duration apart{0};
  // Units that a key got within a period, at most, of late. Nothing or 0: none came, so nobody
  // knows how fast the next one will be asked for.
  std::optional<std::int64_t> busiest{};
};

inline Promise promise_of(const Quota& quota, Mode mode, const SharingFacts& facts) {
  return promise_of(quota, mode, has_copies(mode) ? facts.stores : facts.nodes);
}

// How many units more than one counter of all would the nodes may admit of a key, at this moment.
// Nothing: nobody knows, as nodes without their Redis allow everything. REQUIRES: not kLocal
std::optional<std::int64_t> over_now(const Quota& quota, Mode mode, OnStoreFailure on_failure,
                                     const SharingFacts& facts);

// A precise key (docs/reference/promises.md#precise-keys) of one node. Within a window,
// promise_of() holds. This is of spans that are a grain shorter (`over`) or longer (`under`).
// REQUIRES: a sliding_window whose two counts fit into a slot (docs/internals/memory_store.md)
inline constexpr std::int64_t kGrains = 256;  // of a window
Promise precise_promise_of(const Quota& quota);
Duration precise_grain(const Quota& quota);

// How many units a window never_over admits, on average, of a client that always asks.
std::int64_t steady_units(const Quota& quota);

}  // namespace weir
