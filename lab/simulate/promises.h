// The promises that are checked, by their names. Each is in the file that says so.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <memory>

#include "simulate/checks.h"

namespace weir::sim {

// ---- admission_checks.cc

// No key is admitted more than its algorithm's own bound: by each node in mode local, by the fleet
// in strict and leased. What Redis confirmed and then lost comes on top.
std::unique_ptr<Check> make_never_over(World& world);
// A fixed window of one node counts each unit once, and those of a denied list not at all.
std::unique_ptr<Check> make_counts_exactly(World& world);
// While its store fails, a node admits its share of the limit.
std::unique_ptr<Check> make_alone_within_share(World& world);
// In mode async every node denies soon after all of them have admitted the limit.
std::unique_ptr<Check> make_async_stops(World& world);

// ---- count_checks.cc

// When all nodes have left, Redis has charged what they admitted, and nothing else. Where something
// fails, it has charged no less, but for what it lost.
std::unique_ptr<Check> make_units_come_back(World& world);
// A denial of mode strict is due.
std::unique_ptr<Check> make_what_fits_is_admitted(World& world);
// Counts the answers that an exact count of all nodes would have given otherwise. It never fails.
std::unique_ptr<Check> make_misjudged(World& world);

// ---- hold_checks.cc

// Of fixed windows that hold units: what is admitted fits next to what was spent and what is held,
// nothing else is denied, and a hold ends once, in time.
std::unique_ptr<Check> make_holds_count(World& world);

// ---- slot_checks.cc

// Of slots on lease no more are good than there are, each caller learns whether its own was, and
// those that nobody uses come to who wants them.
std::unique_ptr<Check> make_slots_on_lease(World& world);

// ---- tenant_checks.cc

// Nodes come to one table of tenants, which is in force as a whole or not at all, and answers are
// held to its rows.
std::unique_ptr<Check> make_tenants_agree(World& world);

// ---- fleet_checks.cc

// Every request is answered by its deadline.
std::unique_ptr<Check> make_answered_in_time(World& world);
// A client that is alone, and comes back when it was told to, is admitted.
std::unique_ptr<Check> make_retry_truthful(World& world);
// All nodes deny what one has blocked, and allow what one has lifted.
std::unique_ptr<Check> make_blocks_reach_all(World& world);
// Memory holds no more than it was made for.
std::unique_ptr<Check> make_memory_bounded(World& world);
// When nothing is broken any more, the nodes share again, and know of each other.
std::unique_ptr<Check> make_recovers(World& world);

}  // namespace weir::sim
