// A run as one HTML page: its events by time, with a column for each node.
//
// Thread rule: pure. Tested by simulate_test.cc.

#pragma once

#include <cstdint>
#include <string>

#include "simulate/timeline.h"

namespace weir::sim {

// `outcome`: from to_text(). `nodes`: how many there are.
std::string to_page(const Timeline& timeline, const std::string& outcome, std::int64_t nodes);

}  // namespace weir::sim
