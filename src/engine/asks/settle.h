// settle(): answers what needs no counter of a store, by the rule alone, in this order:
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

// Items that are settled have their answers then; the others have a limit to be counted by.
void settle(Round& round, const Engine& engine, const BlockList& blocks, Instant now);

// As lists, other nodes and people see the key of the rule.
StoredKey stored_key(const Rule& rule, std::string_view key);

// The end of the block of the rule's key, and of the client, if that is known.
std::optional<Instant> block_end(const BlockList& blocks, const Rule& rule, std::string_view key,
                                 const std::optional<IpAddress>& client, Instant now);

// Leaves what is reserved for the requests under way whose responses may count: an answer that
// would use it up denies.
void leave_units(const Ask& ask, Answer& answer);

// Denied, for a moment: nobody knows better when to ask again.
Decision refused(const Quota& quota);
// Allowed, as if the key had never been seen.
Decision untouched(const Quota& quota);
Decision blocked_until(Instant until, const Quota& quota, Instant now);

}  // namespace weir
