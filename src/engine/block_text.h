// Blocks as text, for a file that outlives the process.
//
//   weir blocks 1
//   1763692080000000 1763691780000000 denied login user%20123
//   1763692080000000 1763691780000000 manual  203.0.113.0/24 alice scraping
//   end 2
//
// A line a block: until, since (microseconds since 1970), reason, rule (empty: all) and key; and,
// if one of them is known, whose it is and what for. Lifts that are remembered stand there, too, as
// "lifted". Bytes of texts that are not plain are
// percent-encoded. The last line counts the others, so that a text which was cut off is known.
//
// Thread rule: pure functions. Tested by block_text_test.cc and fuzz/blocks_text_fuzz.cc.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/block_list.h"

namespace weir {

std::string to_text(std::span<const Block> blocks);

// Nothing if it is not what to_text() writes, as a whole. At most BlockList::kBlocksMax.
std::optional<std::vector<Block>> blocks_from_text(std::string_view text);

}  // namespace weir
