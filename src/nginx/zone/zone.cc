#include "nginx/zone/zone.h"

#include <algorithm>

#include "base/assert.h"
#include "nginx/zone/block_log.h"
#include "nginx/zone/concurrency.h"
#include "nginx/zone/rule_board.h"
#include "observe/rule_counts.h"
#include "store/memory/shared_store.h"
#include "weir/version.h"

namespace weir::nginx {
namespace {

constexpr std::uint64_t kMark = 0x656e6f7a72696577;  // "weirzone" in the order of its bytes

// Grows with each change of the layout.
constexpr std::uint64_t kLayout = 10;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// A part of the zone gets this share of it, within its bounds.
struct Share {
  std::size_t divisor;
  std::size_t least;
  std::size_t most;
};
// In the order of the parts behind the head. The table, which comes last, has the rest.
constexpr Share kShares[] = {{32, RuleBoard::kBytesMin, 8 * kMiB},
                             {8, BlockLog::kBytesMin, 16 * kMiB},
                             {16, 0, 8 * kMiB},
                             {32, Concurrency::kBytesMin, 8 * kMiB}};

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::uint64_t Zone::version_here() { return rule_hash(kVersion) ^ kLayout; }

std::span<std::byte> Zone::part(std::size_t number) const {
  const std::size_t size = head().size;
  std::size_t begin = whole_pages(sizeof(Head));
  for (const auto& [divisor, least, most] : kShares) {
    const std::size_t bytes = whole_pages(std::clamp(size / divisor, least, most));
    if (number-- == 0) return {memory_ + begin, bytes};
    begin += bytes;
  }
  return {memory_ + begin, size - begin};
}

void Zone::format(std::span<std::byte> memory, Instant now) {
  WEIR_ASSERT(memory.size() >= kBytesMin);
  const Zone zone(memory.data());
  Head& head = zone.head();
  head.version = version_here();
  head.size = memory.size();
  head.started_us = epoch_us(now);
  head.secret = HashSecret::random();
  head.board.format();
  RuleBoard::format(zone.rules());
  BlockLog::format(zone.blocks());
  Concurrency::format(zone.under_way());
  format_shared_memory_store(zone.table(), now);
  head.mark = kMark;
}

std::string Zone::fault(std::size_t size) const {
  if (head().mark != kMark) return "it is damaged";
  if (head().version != version_here()) return "it is of another version of Weir";
  if (head().size != size) return "it has another size";
  return {};
}

}  // namespace weir::nginx
