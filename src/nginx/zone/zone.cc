#include "nginx/zone/zone.h"

#include <algorithm>
#include <string_view>

#include "base/assert.h"
#include "nginx/zone/block_log.h"
#include "nginx/zone/concurrency.h"
#include "nginx/zone/process.h"
#include "nginx/zone/rule_board.h"
#include "observe/rule_counts.h"
#include "store/memory/shared_store.h"
#include "weir/version.h"

namespace weir::nginx {
namespace {

constexpr std::uint64_t kMark = 0x656e6f7a72696577;  // "weirzone" in the order of its bytes

// Grows with each change of what is where.
constexpr std::uint64_t kLayout = 8;

// The share of a zone that is for blocks, and the most that it takes.
constexpr std::size_t kBlocksShare = 8;
constexpr std::size_t kBlocksMax = std::size_t{16} << 20;

// The same for what its workers owe a Redis.
constexpr std::size_t kOwedShare = 16;
constexpr std::size_t kOwedMax = std::size_t{8} << 20;

// The same for requests under way.
constexpr std::size_t kUnderWayShare = 32;
constexpr std::size_t kUnderWayMax = std::size_t{8} << 20;
// The same for rules that requests have changed.
constexpr std::size_t kRulesShare = 32;
constexpr std::size_t kRulesMax = std::size_t{8} << 20;

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::uint64_t Zone::version_here() { return rule_hash(kVersion) ^ kLayout; }

std::size_t Zone::rules_begin() { return whole_pages(sizeof(Head)); }

std::size_t Zone::blocks_begin() const {
  const std::size_t rules =
      std::clamp<std::size_t>(head().size / kRulesShare, RuleBoard::kBytesMin, kRulesMax);
  return rules_begin() + whole_pages(rules);
}

std::size_t Zone::owed_begin() const {
  const std::size_t blocks =
      std::clamp<std::size_t>(head().size / kBlocksShare, BlockLog::kBytesMin, kBlocksMax);
  return blocks_begin() + whole_pages(blocks);
}

std::size_t Zone::under_way_begin() const {
  return owed_begin() + whole_pages(std::min(head().size / kOwedShare, kOwedMax));
}

std::size_t Zone::table_begin() const {
  return under_way_begin() +
         whole_pages(std::clamp<std::size_t>(head().size / kUnderWayShare, Concurrency::kBytesMin,
                                             kUnderWayMax));
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

std::span<std::byte> Zone::rules() const {
  return {memory_ + rules_begin(), blocks_begin() - rules_begin()};
}

std::span<std::byte> Zone::blocks() const {
  return {memory_ + blocks_begin(), owed_begin() - blocks_begin()};
}

std::span<std::byte> Zone::owed() const {
  return {memory_ + owed_begin(), under_way_begin() - owed_begin()};
}

std::span<std::byte> Zone::under_way() const {
  return {memory_ + under_way_begin(), table_begin() - under_way_begin()};
}

std::span<std::byte> Zone::table() const {
  return {memory_ + table_begin(), head().size - table_begin()};
}

std::optional<std::size_t> Zone::take_place(std::int32_t process, std::size_t places) const {
  auto& all = head().places;
  for (std::size_t place = 0; place < std::min(places, kPlacesMax); ++place) {
    std::int32_t holder = all[place].load(std::memory_order_relaxed);
    if (holder != 0 && is_alive(holder)) continue;
    // What the former holder has counted is seen by who takes its place.
    if (all[place].compare_exchange_strong(holder, process, std::memory_order_acq_rel)) {
      return place;
    }
  }
  return std::nullopt;
}

void Zone::leave(std::size_t place) const {
  head().places[place].store(0, std::memory_order_release);
}

}  // namespace weir::nginx
