#include "engine/block_list.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace weir {
namespace {

// Slots for each block. A quarter full, runs of taken slots stay short.
constexpr std::size_t kSparseness = 4;

// The longest run that is looked through. A block that finds no place within it is not
// added before another has made room.
constexpr std::size_t kProbesMax = 64;

}  // namespace

std::string_view reason_name(BlockReason reason) {
  return reason == BlockReason::kManual ? "manual" : "denied";
}

BlockList::BlockList(const KeyHasher& hasher, std::size_t blocks_max)
    : hasher_(hasher),
      blocks_max_(std::max<std::size_t>(blocks_max, 1)),
      slots_(std::bit_ceil(std::max(kSparseness * blocks_max, kProbesMax))) {}

std::uint64_t BlockList::tag_of(std::string_view rule, std::string_view key) const noexcept {
  // The same for all quotas of the rule: which one is hashed along does not matter.
  const KeyHash hash = hasher_.hash({.rule = rule, .bucket = "blocks", .key = key}, Quota());
  return std::max<std::uint64_t>(hash.high ^ hash.low, 1);
}

std::size_t BlockList::home_of(std::uint64_t tag) const noexcept {
  return tag & (slots_.size() - 1);
}

std::optional<Instant> BlockList::until(std::string_view rule, std::string_view key,
                                        Instant now) const noexcept {
  const std::uint64_t tag = tag_of(rule, key);
  for (std::size_t i = 0; i < kProbesMax; ++i) {
    const Slot& slot = slots_[(home_of(tag) + i) & (slots_.size() - 1)];
    const std::uint64_t found = slot.tag.load(std::memory_order_acquire);
    if (found == 0) return std::nullopt;
    if (found != tag) continue;
    const std::int64_t until_us = slot.until_us.load(std::memory_order_acquire);
    if (slot.tag.load(std::memory_order_relaxed) != tag) return std::nullopt;
    const Instant until = instant_from_epoch_us(until_us);
    return until > now ? std::optional(until) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::size_t> BlockList::free_slot(std::uint64_t tag) const {
  for (std::size_t i = 0; i < kProbesMax; ++i) {
    const std::size_t slot = (home_of(tag) + i) & (slots_.size() - 1);
    if (slots_[slot].until_us.load(std::memory_order_relaxed) == 0) return slot;
  }
  return std::nullopt;
}

bool BlockList::add(Block block, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (!insert(block, now)) return false;
  tell(std::move(block));
  return true;
}

bool BlockList::insert(Block block, Instant now) {
  if (block.rule.size() + block.key.size() > kKeyMax) return false;
  const std::uint64_t tag = tag_of(block.rule, block.key);
  const std::int64_t until_us = std::max<std::int64_t>(epoch_us(block.until), 1);
  expire_locked(now);
  if (const auto known = entries_.find(tag); known != entries_.end()) remove(known);
  auto slot = free_slot(tag);
  while (!entries_.empty() && (entries_.size() >= blocks_max_ || !slot)) {
    remove(entries_.find(ends_.begin()->second));
    slot = free_slot(tag);
  }
  slots_[*slot].tag.store(tag, std::memory_order_release);
  slots_[*slot].until_us.store(until_us, std::memory_order_release);
  const auto end = ends_.emplace(block.until, tag);
  entries_.emplace(tag, Entry{.block = std::move(block), .slot = *slot, .end = end});
  count_.store(entries_.size(), std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// A slot behind which the run goes on keeps its tag, so that probes go on as well; at the
// end of a run it becomes free, and so do those before it that were kept for it.
void BlockList::remove(Entries::iterator entry) {
  std::size_t slot = entry->second.slot;
  const std::size_t mask = slots_.size() - 1;
  slots_[slot].until_us.store(0, std::memory_order_release);
  while (slots_[(slot + 1) & mask].tag.load(std::memory_order_relaxed) == 0 &&
         slots_[slot].tag.load(std::memory_order_relaxed) != 0 &&
         slots_[slot].until_us.load(std::memory_order_relaxed) == 0) {
    slots_[slot].tag.store(0, std::memory_order_release);
    slot = (slot - 1) & mask;
  }
  ends_.erase(entry->second.end);
  entries_.erase(entry);
  count_.store(entries_.size(), std::memory_order_relaxed);
}

bool BlockList::lift(std::string_view rule, std::string_view key) {
  const std::scoped_lock lock(mutex_);
  if (!erase(rule, key)) return false;
  tell({.rule = std::string(rule), .key = std::string(key)});
  return true;
}

bool BlockList::erase(std::string_view rule, std::string_view key) {
  const auto found = entries_.find(tag_of(rule, key));
  if (found == entries_.end()) return false;
  remove(found);
  changes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void BlockList::share() {
  const std::scoped_lock lock(mutex_);
  is_shared_ = true;
  for (const auto& [tag, entry] : entries_) tell(entry.block);
}

void BlockList::tell(Block block) {
  if (!is_shared_) return;
  if (news_.size() == kNewsMax) news_.pop_front();
  news_.push_back(std::move(block));
}

std::vector<Block> BlockList::take_news(std::size_t blocks_max) {
  const std::scoped_lock lock(mutex_);
  const auto end = news_.begin() + static_cast<std::ptrdiff_t>(std::min(blocks_max, news_.size()));
  std::vector<Block> taken(std::make_move_iterator(news_.begin()), std::make_move_iterator(end));
  news_.erase(news_.begin(), end);
  return taken;
}

void BlockList::learn(Block block, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (block.until > now) {
    insert(std::move(block), now);
  } else {
    erase(block.rule, block.key);
  }
}

std::vector<Block> BlockList::list(std::string_view rule, std::size_t blocks_max, Instant now) {
  expire(now);
  const std::scoped_lock lock(mutex_);
  std::vector<Block> blocks;
  for (const auto& [until, tag] : ends_) {
    if (blocks.size() == blocks_max) break;
    const Block& block = entries_.at(tag).block;
    if (rule.empty() || block.rule == rule) blocks.push_back(block);
  }
  return blocks;
}

void BlockList::expire(Instant now) {
  if (empty()) return;
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
}

void BlockList::expire_locked(Instant now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    remove(entries_.find(ends_.begin()->second));
  }
}

}  // namespace weir
