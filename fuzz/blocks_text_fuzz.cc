// Feeds bytes to the reader of the state file. What it accepts is what it would write, and
// can be blocked and lifted, whatever the times in it are.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "engine/block_list.h"
#include "engine/block_text.h"

namespace weir {
namespace {

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);

bool are_equal(const Block& one, const Block& other) {
  return one.rule == other.rule && one.key == other.key && one.since == other.since &&
         one.until == other.until && one.reason == other.reason && one.by == other.by &&
         one.why == other.why;
}

void check_blocks(const std::vector<Block>& blocks) {
  const auto again = blocks_from_text(to_text(blocks));
  WEIR_ASSERT(again && again->size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    WEIR_ASSERT(are_equal((*again)[i], blocks[i]));
    WEIR_ASSERT(epoch_us(blocks[i].since) >= 0 && epoch_us(blocks[i].until) >= 0);
  }

  static const KeyHasher hasher{HashSecret{}};
  BlockList list(hasher, 64);
  for (const Block& block : blocks) list.learn(block, std::nullopt, kNow);
  for (const Block& block : list.list("", 64, kNow)) {
    WEIR_ASSERT(block.until > kNow);
    WEIR_ASSERT(list.until(block.rule, block.key, kNow) >= block.until);  // or a network's
    list.lift(block.rule, block.key, kNow);
  }
  WEIR_ASSERT(list.empty());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto blocks = weir::blocks_from_text(text)) weir::check_blocks(*blocks);
  return 0;
}
