// Blocks and lifts as bytes (base/packed.h): for other nodes, for other processes, and for a file
// that outlives this one.
//
//   '1'  since, until, reason, rule, key, by, why
//
// Times are microseconds since 1970, until the year 9999; a reason is its number in BlockReason;
// texts are as long as a list keeps them at most. The bytes of several blocks are theirs, joined.
//
// Thread rule: pure functions. Tested by block_bytes_test.cc and fuzz/packed_fuzz.cc.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/block.h"

namespace weir {

// REQUIRES: its texts are as long as a list keeps them at most
std::string to_bytes(const Block& block);

// Nothing if there are more than so many, or it is not what to_bytes() writes, as a whole.
std::optional<std::vector<Block>> blocks_in(std::string_view bytes, std::size_t blocks_max);

}  // namespace weir
