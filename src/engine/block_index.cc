#include "engine/block_index.h"

#include <algorithm>
#include <array>
#include <bit>

namespace weir {
namespace {

// Slots for each block. At a quarter full, runs of taken slots stay short.
constexpr std::size_t kSparseness = 4;
// The end in a slot whose tag blocks nothing any more; no block has this end.
constexpr std::int64_t kOver = 1;

// Uses any quota: the tag is the same for all quotas of the rule.
std::uint64_t tag_of(const KeyHash& hash) {
  return std::max<std::uint64_t>(hash.high ^ hash.low, 1);
}

}  // namespace

BlockIndex::BlockIndex(const KeyHasher& hasher, std::size_t blocks_max)
    : hasher_(hasher),
      by_rule_(hasher.hash_bucket("blocks")),
      by_hand_(hasher.hash_bucket("blocks by hand")),
      slots_(std::bit_ceil(std::max(kSparseness * blocks_max, kProbesMax))) {}

// ---- reading ----

std::uint64_t BlockIndex::tag_of(HashedName name, KeyHash bucket) const noexcept {
  name.bucket = bucket;
  return weir::tag_of(KeyHasher::combine_names(name, Quota()));
}

std::uint64_t BlockIndex::tag_of(std::string_view rule, const IpPrefix& network) const noexcept {
  std::array<char, sizeof(IpAddress::Bytes) + 1> name;
  std::ranges::copy(network.network().bytes(), name.begin());
  name.back() = static_cast<char>(network.bits());
  const std::string_view key(name.data(), name.size());
  return weir::tag_of(hasher_.hash({.rule = rule, .bucket = "networks", .key = key}, Quota()));
}

std::uint64_t BlockIndex::tag_of(const Block& block, bool by_hand) const noexcept {
  const auto network = by_hand ? network_to_block(block.key) : std::nullopt;
  if (network) return tag_of(block.rule, *network);
  const StoredKey key(block.key);
  const HashedName name = hasher_.hash_names({.rule = block.rule, .bucket = {}, .key = key});
  return tag_of(name, by_hand ? by_hand_ : by_rule_);
}

std::optional<Instant> BlockIndex::until(const HashedName& name, std::string_view rule,
                                         std::string_view key,
                                         const std::optional<IpAddress>& client,
                                         Instant now) const noexcept {
  auto until = end_at(tag_of(name, by_rule_), now);
  if (keys_of_rules_.load(std::memory_order_relaxed) > 0) {
    until = std::max(until, end_at(tag_of(name, by_hand_), now));
  }
  if (keys_for_all_.load(std::memory_order_relaxed) > 0) {
    const HashedName for_all =
        hasher_.hash_names({.rule = {}, .bucket = {}, .key = StoredKey(key)});
    until = std::max(until, end_at(tag_of(for_all, by_hand_), now));
  }
  if (networks_.empty()) return until;
  const auto named = IpPrefix::parse(key, IpPrefix::Slips::kFixed);
  if (named) until = std::max(until, end_around(rule, *named, now));
  const bool is_named = named && named->is_single() && named->network() == client;
  if (client && !is_named) {
    until = std::max(until, end_around(rule, {*client, client->bits()}, now));
  }
  return until;
}

// The latest end of blocked networks that contain this one.
std::optional<Instant> BlockIndex::end_around(std::string_view rule, const IpPrefix& inner,
                                              Instant now) const noexcept {
  std::optional<Instant> end;
  networks_.each_around(inner, BlockScope::kRule, [&](const IpPrefix& network) {
    end = std::max(end, end_at(tag_of(rule, network), now));
  });
  networks_.each_around(inner, BlockScope::kAllRules, [&](const IpPrefix& network) {
    end = std::max(end, end_at(tag_of({}, network), now));
  });
  return end;
}

std::optional<Instant> BlockIndex::end_at(std::uint64_t tag, Instant now) const noexcept {
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

// ---- writing ----

std::optional<std::size_t> BlockIndex::free_slot(std::uint64_t tag) const {
  for (std::size_t i = 0; i < kProbesMax; ++i) {
    const std::size_t slot = (home_of(tag) + i) & (slots_.size() - 1);
    if (slots_[slot].until_us.load(std::memory_order_relaxed) == 0) return slot;
  }
  return std::nullopt;
}

void BlockIndex::put(std::size_t slot, std::uint64_t tag, const Block& block,
                     const Network& network) noexcept {
  count(block, network, Count::kIn);
  const std::int64_t until_us = is_lift(block) ? kOver : std::max(epoch_us(block.until), kOver);
  slots_[slot].tag.store(tag, std::memory_order_release);
  slots_[slot].until_us.store(until_us, std::memory_order_release);
}

void BlockIndex::end(std::size_t slot, const Block& block, const Network& network) noexcept {
  count(block, network, Count::kOut);
  slots_[slot].until_us.store(kOver, std::memory_order_release);
}

// If the run goes on behind the slot, the slot keeps its tag, so that probes go on, too. At the end
// of a run it becomes free, as do the slots before it that were kept only for it.
void BlockIndex::remove(std::size_t slot, const Block& block, const Network& network) noexcept {
  const std::size_t mask = slots_.size() - 1;
  slots_[slot].until_us.store(0, std::memory_order_release);
  while (slots_[(slot + 1) & mask].tag.load(std::memory_order_relaxed) == 0 &&
         slots_[slot].tag.load(std::memory_order_relaxed) != 0 &&
         slots_[slot].until_us.load(std::memory_order_relaxed) == 0) {
    slots_[slot].tag.store(0, std::memory_order_release);
    slot = (slot - 1) & mask;
  }
  count(block, network, Count::kOut);
}

void BlockIndex::count(const Block& block, const Network& network, Count way) noexcept {
  if (is_lift(block)) return;
  const std::size_t step = way == Count::kIn ? 1 : SIZE_MAX;  // which is -1
  count_.fetch_add(step, std::memory_order_relaxed);
  if (network) {
    const auto scope = block.rule.empty() ? BlockScope::kAllRules : BlockScope::kRule;
    return way == Count::kIn ? networks_.add(*network, scope) : networks_.remove(*network, scope);
  }
  if (!is_by_hand(block)) return;
  (block.rule.empty() ? keys_for_all_ : keys_of_rules_).fetch_add(step, std::memory_order_relaxed);
}

}  // namespace weir
