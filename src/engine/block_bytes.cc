#include "engine/block_bytes.h"

#include <algorithm>
#include <cstdint>

#include "base/packed.h"

namespace weir {
namespace {

constexpr char kVersion = '1';

// The year 9999. Sums and differences of such times fit 64 bits.
constexpr std::int64_t kTimeMaxUs = 253'402'300'800'000'000;

std::uint64_t number_of(Instant time) {
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(epoch_us(time), 0, kTimeMaxUs));
}

Instant read_time(PackedReader& in) {
  return instant_from_epoch_us(static_cast<std::int64_t>(in.number(kTimeMaxUs)));
}

Block read_block(PackedReader& in) {
  in.version(kVersion);
  Block block;
  block.since = read_time(in);
  block.until = read_time(in);
  block.reason = static_cast<BlockReason>(in.number(static_cast<unsigned>(BlockReason::kEnded)));
  block.rule = in.text(Block::kKeyMax);
  block.key = in.text(Block::kKeyMax);
  block.by = in.text(Block::kByMax);
  block.why = in.text(Block::kWhyMax);
  return block;
}

}  // namespace

std::string to_bytes(const Block& block) {
  return PackedWriter()
      .version(kVersion)
      .number(number_of(block.since))
      .number(number_of(block.until))
      .number(static_cast<unsigned>(block.reason))
      .text(block.rule)
      .text(block.key)
      .text(block.by)
      .text(block.why)
      .take();
}

std::optional<std::vector<Block>> blocks_in(std::string_view bytes, std::size_t blocks_max) {
  std::vector<Block> blocks;
  PackedReader in(bytes);
  while (in.has_more()) {
    in.require(blocks.size() < blocks_max);
    blocks.push_back(read_block(in));
  }
  if (!in.is_whole()) return std::nullopt;
  return blocks;
}

}  // namespace weir
