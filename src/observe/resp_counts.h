// RespCounts: what the Redis doors count.
//
// Thread rule: as CoreCounters. Tested by src/server/resp/resp_commands_test.cc.

#pragma once

#include "observe/core_slots.h"

namespace weir {

// Their places in the row.
enum RespCount : std::size_t {
  kRespOpened,  // connections, ever
  kRespClosed,
  kRespCommands,
  kRespCountEnd,
};

using RespCounts = CoreCounters<kRespCountEnd>;

}  // namespace weir
