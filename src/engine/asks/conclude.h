// conclude(): draws the consequences of a round's answers, once: figures, blocks, what is
// remembered of denials, what the fleet is told of charges that its store did not take. An answer
// in shadow lets pass from then on, and one that blocks its key says how long.
//
// Thread rule: one core. Tested by asks_test.cc and asks_modes_test.cc.

#pragma once

#include "engine/asks/round.h"
#include "engine/block_list.h"
#include "engine/engine.h"

namespace weir {

// REQUIRES: every item of the round has its answer
void conclude(Round& round, Engine& engine, BlockList& blocks, Instant now);

}  // namespace weir
