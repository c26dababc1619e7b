#include "nginx/zone/block_log.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "engine/block_bytes.h"

namespace weir::nginx {
namespace {

constexpr auto kProcesses = BlockList::Audience::kProcesses;

constexpr int kSizeBits = 32;

// More than a record of an IPv6 address and a rule with a name of twelve letters.
constexpr std::size_t kBytesABlock = 96;

// The part of its half that a log may fill when it starts over.
constexpr std::size_t filled_max(std::size_t half) { return half / 4 * 3; }

std::uint32_t generation_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> kSizeBits);
}
std::size_t size_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }

// False if there is no room behind the `size` bytes of the half.
bool append(std::span<std::byte> half, std::size_t& size, const Block& block) {
  const std::string record = to_bytes(block);
  if (record.size() > half.size() - size) return false;
  std::memcpy(half.data() + size, record.data(), record.size());
  size += record.size();
  return true;
}

}  // namespace

void BlockLog::format(std::span<std::byte> memory) {
  WEIR_ASSERT(memory.size() >= kBytesMin);
  reinterpret_cast<Head*>(memory.data())->mutex.share();
}

BlockLog::BlockLog(std::span<std::byte> memory, const KeyHasher& hasher)
    : head_(*reinterpret_cast<Head*>(memory.data())),
      bytes_(memory.subspan(sizeof(Head))
                 .first(std::min<std::size_t>(memory.size() - sizeof(Head),
                                              std::numeric_limits<std::uint32_t>::max()))),
      list_(hasher, std::min(blocks_max(), BlockList::kBlocksMax)) {
  list_.share(kProcesses);
}

// The log has room for so many.
std::size_t BlockLog::blocks_max() const { return filled_max(half(0).size()) / kBytesABlock; }

std::uint32_t BlockLog::generation() const {
  return generation_of(head_.state.load(std::memory_order_relaxed));
}

std::span<std::byte> BlockLog::half(std::uint32_t generation) const {
  const std::size_t size = bytes_.size() / 2;
  return bytes_.subspan(generation % 2 * size, size);
}

void BlockLog::publish(std::uint32_t generation, std::size_t size) {
  const std::uint64_t state = (std::uint64_t{generation} << kSizeBits) | size;
  head_.state.store(state, std::memory_order_release);
  seen_ = state;
}

void BlockLog::catch_up(Instant now) {
  const std::lock_guard lock(head_.mutex);
  learn_locked(now);
}

// REQUIRES: the lock
void BlockLog::learn_locked(Instant now) {
  const std::uint64_t state = head_.state.load(std::memory_order_relaxed);
  std::vector<Block> told = records(seen_.value_or(0), state);
  const bool goes_on = !seen_ || generation_of(*seen_) == generation_of(state);
  if (!goes_on) lift_unknown(told, now);
  for (Block& block : told) list_.learn(std::move(block), kProcesses, now);
  seen_ = state;
}

// Records behind an earlier state; all, if the log has started over since. REQUIRES: the lock
std::vector<Block> BlockLog::records(std::uint64_t from, std::uint64_t state) const {
  const std::uint32_t generation = generation_of(state);
  const std::size_t place = generation_of(from) == generation ? size_of(from) : 0;
  const auto* all = reinterpret_cast<const char*>(half(generation).data());
  const std::string_view told(all, size_of(state));
  return blocks_in(told.substr(std::min(place, told.size())), told.size())
      .value_or(std::vector<Block>());
}

void BlockLog::tell_fleet(Instant now) {
  learn(now);
  list_.share(BlockList::Audience::kFleet, unknown_to_fleet());
}

// Blocks that this worker has read and other nodes may not know. REQUIRES: it has read
std::vector<Block> BlockLog::unknown_to_fleet() const {
  const std::lock_guard lock(head_.mutex);
  const std::uint64_t state = head_.state.load(std::memory_order_relaxed);
  const bool has_read_on = generation_of(*seen_) == generation_of(state);
  return records(head_.fleet_knows.load(std::memory_order_relaxed), has_read_on ? *seen_ : state);
}

// The log no longer has blocks that were lifted before it started over, nor those that found no
// room: so other nodes do not hear of these lifts.
void BlockLog::lift_unknown(std::span<const Block> known, Instant now) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const Block& block : known) names.emplace(block.rule, block.key);
  for (const Block& own : list_.list({}, BlockList::kBlocksMax, now)) {
    if (!names.contains({own.rule, own.key})) list_.forget(own.rule, own.key);
  }
}

// Writes the blocks that still hold into the other half. REQUIRES: the lock
void BlockLog::start_over(Instant now) {
  const std::uint32_t next = generation_of(head_.state.load(std::memory_order_relaxed)) + 1;
  const auto room = half(next).first(filled_max(half(next).size()));
  std::size_t size = 0;
  std::uint64_t dropped = 0;
  for (const Block& block : list_.list({}, BlockList::kBlocksMax, now)) {
    dropped += append(room, size, block) ? 0 : 1;
  }
  for (const Block& lift : list_.lifts(now)) {
    if (!append(room, size, lift)) break;
  }
  head_.dropped.fetch_add(dropped, std::memory_order_relaxed);
  publish(next, size);
}

void BlockLog::write(Instant now) {
  const auto news = list_.take_news(kProcesses, BlockList::kBlocksMax);
  if (news.empty()) return;
  const std::lock_guard lock(head_.mutex);
  const std::uint64_t state = head_.state.load(std::memory_order_relaxed);
  if (seen_ != state) {
    learn_locked(now);
    // The others' blocks are in the log before ours.
    for (const Block& block : news) list_.learn(block, kProcesses, now);
  }
  std::size_t size = size_of(state);
  for (const Block& block : news) {
    if (!append(half(generation_of(state)), size, block)) return start_over(now);
  }
  publish(generation_of(state), size);
}

}  // namespace weir::nginx
