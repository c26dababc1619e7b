// conclude(): acts on a round's answers, once. It counts figures, blocks keys, remembers denials,
// and tells the fleet of charges that its store did not take. Then a denial in shadow becomes an
// allowed answer, and a denial that blocks its key says how long.
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
