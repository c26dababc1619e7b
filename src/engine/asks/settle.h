// settle(): answers asks that need no counter of a store, by the rule alone, in this order:
//
//   not in force, unlimited, exempt  allowed, nothing counted
//   on the rule's deny list          denied for good, nothing counted; of a request that repeats
//                                    its key, any of the values counts here and for blocks
//   on its allow list                allowed, nothing counted
//   without a part of its key        denied for good, nothing counted, if the rule says so
//   blocked, by the rule or for all  denied until the block ends, nothing counted; a limit
//                                    without a rule, too, if it is for all
//   concurrency without slots        as many may be under way; the door says how many are
//
// Thread rule: one core. Tested by asks_test.cc.

#pragma once

#include <optional>
#include <string_view>

#include "engine/asks/round.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "weir/decision.h"

namespace weir {

// Afterwards settled items have their answers; the others have a limit that counts them.
void settle(Round& round, const Engine& engine, const BlockList& blocks, Instant now);

// The rule's key as lists, other nodes and people see it.
StoredKey stored_key(const Rule& rule, std::string_view key);

// When the block of the rule's key ends, or of the client, if that is known.
std::optional<Instant> block_end(const BlockList& blocks, const Rule& rule, std::string_view key,
                                 const std::optional<IpAddress>& client, Instant now);

// Leaves the units that are reserved for requests under way whose responses may count. An answer
// that would use them up becomes a denial.
void leave_units(const Ask& ask, Answer& answer);

// A denial for a moment, if nobody knows better when to ask again.
Decision refused(const Quota& quota);
// Allowed, as if the key had never been seen.
Decision untouched(const Quota& quota);
Decision blocked_until(Instant until, const Quota& quota, Instant now);

}  // namespace weir
