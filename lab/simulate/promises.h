// The promises that are checked, by name. Headings name their files.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <memory>

#include "simulate/checks.h"

namespace weir::sim {

// ---- admission_checks.cc

// No key is admitted more than its algorithm's bound: by each node in mode local, by the fleet in
// strict and leased. Units that Redis confirmed and then lost come on top.
std::unique_ptr<Check> make_never_over(World& world);
// A fixed window of one node counts each unit once, and no units of a denied list.
std::unique_ptr<Check> make_counts_exactly(World& world);
// While its store fails, a node admits its share of the limit.
std::unique_ptr<Check> make_alone_within_share(World& world);
// In mode async every node denies soon after the nodes have together admitted the limit.
std::unique_ptr<Check> make_async_stops(World& world);

// ---- count_checks.cc

// When all nodes have left, Redis has charged the units that they admitted, and nothing else. If
// something failed, it has charged no fewer, except for units that it lost.
std::unique_ptr<Check> make_units_come_back(World& world);
// Mode strict denies only what does not fit.
std::unique_ptr<Check> make_what_fits_is_admitted(World& world);
// Counts answers that differ from an exact count of all nodes. It never fails.
std::unique_ptr<Check> make_misjudged(World& world);

// ---- hold_checks.cc

// For fixed windows that hold units: an admission fits next to spent and held units, nothing that
// fits is denied, and a hold ends once, in time.
std::unique_ptr<Check> make_holds_count(World& world);

// ---- slot_checks.cc

// There are never more valid leased slots than the limit, each caller learns whether its slot was
// valid, and unused slots reach callers that want them.
std::unique_ptr<Check> make_slots_on_lease(World& world);

// ---- tenant_checks.cc

// Nodes agree on one table of tenants, which is in force as a whole or not at all, and answers
// follow its rows.
std::unique_ptr<Check> make_tenants_agree(World& world);

// ---- fleet_checks.cc

// Every request is answered by its deadline.
std::unique_ptr<Check> make_answered_in_time(World& world);
// A lone client that comes back when it was told to is admitted.
std::unique_ptr<Check> make_retry_truthful(World& world);
// All nodes deny keys that one node has blocked, and allow keys that one has lifted.
std::unique_ptr<Check> make_blocks_reach_all(World& world);
// Memory holds no more than its bound.
std::unique_ptr<Check> make_memory_bounded(World& world);
// When nothing is broken any more, the nodes share again, and know each other.
std::unique_ptr<Check> make_recovers(World& world);

}  // namespace weir::sim
