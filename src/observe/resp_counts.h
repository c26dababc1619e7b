// RespCounts: the counters of the Redis doors.
//
// Thread rule: as CoreCounters. Tested by src/server/resp/resp_commands_test.cc.

#pragma once

#include "observe/core_slots.h"

namespace weir {

// The places of counters in the row.
enum RespCount : std::size_t {
  kRespOpened,  // connections since the start
  kRespClosed,
  kRespCommands,
  kRespCountEnd,
};

using RespCounts = CoreCounters<kRespCountEnd>;

}  // namespace weir
