// Metering: what keys of proportional rules are offered, and which of their requests pass. What is
// above the share that passes is denied at once (algo/proportion.h).
//
// Thread rule: one core. Tested by asks_proportion_test.cc.

#pragma once

#include "engine/asks/trips.h"

namespace weir {

// Counts what the keys are offered, or looks.
void meter(Round& round, Engine& engine, Trips& trips, Instant now);

// Denies what is above the share. If a counter has failed, its offers are unknown, and only the
// limit decides. REQUIRES: the trips of meter() have answers
void read_meters(Round& round, Engine& engine, Trips& trips);

// Gives back the credit of requests that passed, if their own limit or another one denied them.
void give_back_credits(const Round& round, Engine& engine);

}  // namespace weir
