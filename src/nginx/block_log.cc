#include "nginx/block_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace weir::nginx {
namespace {

constexpr auto kProcesses = BlockList::Audience::kProcesses;

constexpr int kSizeBits = 32;

// A record of an IPv6 address and a rule with a name of a dozen letters.
constexpr std::size_t kBytesABlock = 96;

// What a log that starts over may fill of its half.
constexpr std::size_t filled_max(std::size_t half) { return half / 4 * 3; }

// In front of the texts of a block.
struct RecordHead {
  std::int64_t since_us;
  std::int64_t until_us;
  std::uint32_t rule_size;
  std::uint32_t key_size;
  std::uint16_t by_size;
  std::uint16_t why_size;
  BlockReason reason;
};
static_assert(BlockList::kByMax <= UINT16_MAX && BlockList::kWhyMax <= UINT16_MAX);

std::uint32_t generation_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> kSizeBits);
}
std::size_t size_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }

std::size_t bytes_of(const Block& block) {
  return sizeof(RecordHead) + block.rule.size() + block.key.size() + block.by.size() +
         block.why.size();
}

Block block_in(std::span<const std::byte> bytes) {
  RecordHead record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  const auto* text = reinterpret_cast<const char*>(bytes.data() + sizeof(record));
  const auto next = [&text](std::size_t size) {
    return std::string(std::exchange(text, text + size), size);
  };
  Block block{.rule = next(record.rule_size), .key = next(record.key_size)};
  block.since = instant_from_epoch_us(record.since_us);
  block.until = instant_from_epoch_us(record.until_us);
  block.reason = record.reason;
  block.by = next(record.by_size);
  block.why = next(record.why_size);
  return block;
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
  std::size_t place = generation_of(from) == generation ? size_of(from) : 0;
  std::vector<Block> found;
  while (place < size_of(state)) {
    found.push_back(block_in(half(generation).subspan(place)));
    place += bytes_of(found.back());
  }
  return found;
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

bool BlockLog::append(std::uint32_t generation, std::size_t& size, const Block& block) {
  const auto room = half(generation).subspan(size);
  if (bytes_of(block) > room.size()) return false;
  const RecordHead record{.since_us = epoch_us(block.since),
                          .until_us = epoch_us(block.until),
                          .rule_size = static_cast<std::uint32_t>(block.rule.size()),
                          .key_size = static_cast<std::uint32_t>(block.key.size()),
                          .by_size = static_cast<std::uint16_t>(block.by.size()),
                          .why_size = static_cast<std::uint16_t>(block.why.size()),
                          .reason = block.reason};
  std::memcpy(room.data(), &record, sizeof(record));
  std::byte* end = room.data() + sizeof(record);
  for (const std::string_view text : {std::string_view(block.rule), std::string_view(block.key),
                                      std::string_view(block.by), std::string_view(block.why)}) {
    end = std::ranges::copy(std::as_bytes(std::span(text)), end).out;
  }
  size += bytes_of(block);
  return true;
}

// Writes what holds now into the other half. REQUIRES: the lock
void BlockLog::start_over(BlockList& blocks, Instant now) {
  const std::uint32_t next = generation_of(head_.state.load(std::memory_order_relaxed)) + 1;
  std::size_t size = 0;
  std::uint64_t dropped = 0;
  const auto add = [&](const Block& block) {
    const bool has_room = size + bytes_of(block) <= filled_max(half(next).size());
    return has_room && append(next, size, block);
  };
  for (const Block& block : blocks.list({}, BlockList::kBlocksMax, now)) {
    dropped += add(block) ? 0 : 1;
  }
  for (const Block& lift : blocks.lifts(now)) {
    if (!add(lift)) break;
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
    if (!append(generation_of(state), size, block)) return start_over(blocks, now);
  }
  publish(generation_of(state), size);
}

}  // namespace weir::nginx
