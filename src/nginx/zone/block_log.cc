#include "nginx/zone/block_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
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

// More than a record of an IPv6 address and a rule with a name of a dozen letters.
constexpr std::size_t kBytesABlock = 96;

// What a log that starts over may fill of its half.
constexpr std::size_t filled_max(std::size_t half) { return half / 4 * 3; }

std::uint32_t generation_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> kSizeBits);
}
std::size_t size_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }

// False if it finds no room behind the `size` bytes that `half` has.
bool append(std::span<std::byte> half, std::size_t& size, const Block& block) {
  const std::string record = to_bytes(block);
  if (record.size() > half.size() - size) return false;
  std::memcpy(half.data() + size, record.data(), record.size());
  size += record.size();
  return true;
}

}  // namespace

// Passes on what a process held that is no more: all that the lock guards is complete.
class BlockLog::Lock {
 public:
  explicit Lock(Head& head) : mutex_(head.mutex) {
    const int error = ::pthread_mutex_lock(&mutex_);
    if (error == EOWNERDEAD) ::pthread_mutex_consistent(&mutex_);
    WEIR_ASSERT(error == 0 || error == EOWNERDEAD);
  }
  ~Lock() { ::pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

void BlockLog::format(std::span<std::byte> memory) {
  WEIR_ASSERT(memory.size() >= kBytesMin);
  auto& head = *reinterpret_cast<Head*>(memory.data());
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  WEIR_ASSERT(::pthread_mutex_init(&head.mutex, &attributes) == 0);
  ::pthread_mutexattr_destroy(&attributes);
}

BlockLog::BlockLog(std::span<std::byte> memory)
    : head_(*reinterpret_cast<Head*>(memory.data())),
      bytes_(memory.subspan(sizeof(Head))
                 .first(std::min<std::size_t>(memory.size() - sizeof(Head),
                                              std::numeric_limits<std::uint32_t>::max()))) {}

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

void BlockLog::catch_up(BlockList& blocks, Instant now) {
  const Lock lock(head_);
  learn(blocks, now);
}

// REQUIRES: the lock
void BlockLog::learn(BlockList& blocks, Instant now) {
  const std::uint64_t state = head_.state.load(std::memory_order_relaxed);
  std::vector<Block> told = records(seen_.value_or(0), state);
  const bool goes_on = !seen_ || generation_of(*seen_) == generation_of(state);
  if (!goes_on) lift_unknown(blocks, told, now);
  for (Block& block : told) blocks.learn(std::move(block), kProcesses, now);
  seen_ = state;
}

// Those behind an earlier state; all, if the log has started over meanwhile. REQUIRES: the lock
std::vector<Block> BlockLog::records(std::uint64_t from, std::uint64_t state) const {
  const std::uint32_t generation = generation_of(state);
  const std::size_t place = generation_of(from) == generation ? size_of(from) : 0;
  const auto* all = reinterpret_cast<const char*>(half(generation).data());
  const std::string_view told(all, size_of(state));
  return blocks_in(told.substr(std::min(place, told.size())), told.size())
      .value_or(std::vector<Block>());
}

std::vector<Block> BlockLog::unknown_to_fleet() const {
  const Lock lock(head_);
  const std::uint64_t state = head_.state.load(std::memory_order_relaxed);
  const bool has_read_on = generation_of(*seen_) == generation_of(state);
  return records(head_.fleet_knows.load(std::memory_order_relaxed), has_read_on ? *seen_ : state);
}

// What was lifted before the log started over is no longer in it. Nor is what found no room: so
// other nodes are not told that it was lifted.
void BlockLog::lift_unknown(BlockList& blocks, std::span<const Block> known, Instant now) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const Block& block : known) names.emplace(block.rule, block.key);
  for (const Block& own : blocks.list({}, BlockList::kBlocksMax, now)) {
    if (!names.contains({own.rule, own.key})) blocks.forget(own.rule, own.key);
  }
}

// Writes what holds now into the other half. REQUIRES: the lock
void BlockLog::start_over(BlockList& blocks, Instant now) {
  const std::uint32_t next = generation_of(head_.state.load(std::memory_order_relaxed)) + 1;
  const auto room = half(next).first(filled_max(half(next).size()));
  std::size_t size = 0;
  std::uint64_t dropped = 0;
  for (const Block& block : blocks.list({}, BlockList::kBlocksMax, now)) {
    dropped += append(room, size, block) ? 0 : 1;
  }
  for (const Block& lift : blocks.lifts(now)) {
    if (!append(room, size, lift)) break;
  }
  head_.dropped.fetch_add(dropped, std::memory_order_relaxed);
  publish(next, size);
}

void BlockLog::write(BlockList& blocks, Instant now) {
  const auto news = blocks.take_news(kProcesses, BlockList::kBlocksMax);
  if (news.empty()) return;
  const Lock lock(head_);
  const std::uint64_t state = head_.state.load(std::memory_order_relaxed);
  if (seen_ != state) {
    learn(blocks, now);
    // Theirs are in the log before ours.
    for (const Block& block : news) blocks.learn(block, kProcesses, now);
  }
  std::size_t size = size_of(state);
  for (const Block& block : news) {
    if (!append(half(generation_of(state)), size, block)) return start_over(blocks, now);
  }
  publish(generation_of(state), size);
}

}  // namespace weir::nginx
