// Blocks and lifts as bytes (base/packed.h): for other nodes, for other processes, and for a file
// that outlives this one.
//
//   '1'  since, until, reason, rule, key, by, why
//
// Times are microseconds since 1970, up to the year 9999; a reason is its number in BlockReason;
// texts are at most as long as a list keeps them. Several blocks are joined without a separator.
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

// REQUIRES: the block's texts are at most as long as a list keeps them
std::string to_bytes(const Block& block);

// Nothing if there are more than `blocks_max`, or if the bytes are not what to_bytes() writes.
std::optional<std::vector<Block>> blocks_in(std::string_view bytes, std::size_t blocks_max);

}  // namespace weir
