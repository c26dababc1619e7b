// The entries of a block list: how one gets its place, and who makes room for it.

#include "engine/block_list.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace weir {
namespace {

// In a slot whose tag holds no more: the end of no block.
constexpr std::int64_t kOver = 1;

// Shares of the list: for the first that come, and for the addresses of one network.
constexpr std::size_t kKeptShare = 2;
constexpr std::size_t kNetworkShare = 16;
constexpr unsigned kNetworkBitsV4 = 16;
constexpr unsigned kNetworkBitsV6 = 48;

// "192.0.2.1", or a network as the key "client/24/48" has it.
std::optional<IpAddress> network_of_address(std::string_view text) {
  const auto address = IpAddress::parse(text.substr(0, text.find('/')));
  if (!address) return std::nullopt;
  return address->network(address->is_v4() ? kNetworkBitsV4 : kNetworkBitsV6);
}

// The network of the first part that is an address, if the key has several parts
// ("9:192.0.2.16:/login", see rules/rule.h).
std::optional<IpAddress> network_of(std::string_view key) {
  if (const auto network = network_of_address(key)) return network;
  while (!key.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), length);
    if (error != std::errc() || end == key.data() + key.size() || *end != ':') break;
    key.remove_prefix(static_cast<std::size_t>(end - key.data()) + 1);
    if (length > key.size()) break;
    if (const auto network = network_of_address(key.substr(0, length))) return network;
    key.remove_prefix(length);
  }
  return std::nullopt;
}

BlockScope scope_of(const Block& block) {
  return block.rule.empty() ? BlockScope::kAllRules : BlockScope::kRule;
}

}  // namespace

std::optional<std::size_t> BlockList::free_slot(std::uint64_t tag) const {
  for (std::size_t i = 0; i < kProbesMax; ++i) {
    const std::size_t slot = (home_of(tag) + i) & (slots_.size() - 1);
    if (slots_[slot].until_us.load(std::memory_order_relaxed) == 0) return slot;
  }
  return std::nullopt;
}

// In place of what it is newer than.
bool BlockList::put(const Block& block, const Known& known, Instant now) {
  const auto network = blocked_network(block);
  if (!is_lift(block) && network && !networks_.has_room_for(*network)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const auto end = lists_.entries.end();
  const bool by_hand = is_by_hand(block);
  const bool had_hand = by_hand && known.by_hand != end;
  const bool had_rule =
      known.by_rule != end && (!by_hand || known.by_rule->second.block.since <= block.since);
  Instant remembered = std::max(block.until, now + kRemembered);
  if (had_hand) remembered = std::max(remembered, known.by_hand->second.remembered);
  if (had_rule) remembered = std::max(remembered, known.by_rule->second.block.until);

  const std::uint64_t tag = tag_of(block);
  Block kept = block;
  if (is_lift(block)) kept.until = remembered;
  Lists own = lists_of(tag, kept);  // or there is no memory, and the known block stays
  Entry& entry = own.entries.begin()->second;
  entry.remembered = by_hand ? remembered : block.until;
  entry.blocked = is_lift(block) ? std::nullopt : network;
  if (had_hand) remove(known.by_hand);
  if (had_rule) remove(known.by_rule);
  make_room_in(entry.network);
  const Worth worth = is_lift(block)                     ? Worth::kLift
                      : by_hand                          ? Worth::kByHand
                      : kept_ < blocks_max_ / kKeptShare ? Worth::kKept
                                                         : Worth::kOther;
  changes_.fetch_add(1, std::memory_order_relaxed);
  const bool has_room = block.rule.size() <= kKeyMax && make_room_for(worth);
  const auto slot = free_slot(tag);
  if (!has_room || !slot) {
    dropped_.fetch_add(is_lift(block) ? 0 : 1, std::memory_order_relaxed);
    return false;
  }
  take(own, worth, *slot);
  const std::int64_t until_us = is_lift(block) ? kOver : std::max(epoch_us(block.until), kOver);
  slots_[*slot].tag.store(tag, std::memory_order_release);
  slots_[*slot].until_us.store(until_us, std::memory_order_release);
  return true;
}

// One block in lists of its own, which have all the memory that it needs.
BlockList::Lists BlockList::lists_of(std::uint64_t tag, const Block& block) {
  Lists lists;
  Entry& entry = lists.entries[tag];
  entry.block = block;
  const End end(block.until, tag);
  lists.ends.insert(end);
  lists.by_worth.emplace(entry.worth, end);
  if (!is_by_hand(block)) entry.network = network_of(block.key);
  if (entry.network) lists.by_network[*entry.network].insert(end);
  return lists;
}

// Nodes move from list to list, which cannot fail.
void BlockList::take(Lists& own, Worth worth, std::size_t slot) noexcept {
  Entry& entry = own.entries.begin()->second;
  entry.slot = slot;
  entry.worth = worth;
  auto by_worth = own.by_worth.extract(own.by_worth.begin());
  by_worth.value().first = worth;
  lists_.by_worth.insert(std::move(by_worth));
  kept_ += worth == Worth::kKept ? 1 : 0;
  count_in(entry);
  lists_.entries.merge(own.entries);
  lists_.ends.merge(own.ends);
  lists_.by_network.merge(own.by_network);
  for (auto& [network, ends] : own.by_network) lists_.by_network.at(network).merge(ends);
}

void BlockList::count_in(const Entry& entry) noexcept {
  if (is_lift(entry.block)) return;
  count_.fetch_add(1, std::memory_order_relaxed);
  if (entry.blocked) return networks_.add(*entry.blocked, scope_of(entry.block));
  if (is_by_hand(entry.block)) keys_by_hand(entry.block).fetch_add(1, std::memory_order_relaxed);
}

void BlockList::count_out(const Entry& entry) noexcept {
  if (is_lift(entry.block)) return;
  count_.fetch_sub(1, std::memory_order_relaxed);
  if (entry.blocked) return networks_.remove(*entry.blocked, scope_of(entry.block));
  if (is_by_hand(entry.block)) keys_by_hand(entry.block).fetch_sub(1, std::memory_order_relaxed);
}

std::atomic<std::size_t>& BlockList::keys_by_hand(const Block& block) noexcept {
  return block.rule.empty() ? keys_for_all_ : keys_of_rules_;
}

// A network that has its share of the list gives up one of its own.
void BlockList::make_room_in(const Network& network) {
  const auto own = network ? lists_.by_network.find(*network) : lists_.by_network.end();
  if (own == lists_.by_network.end()) return;
  const std::size_t share = std::max<std::size_t>(blocks_max_ / kNetworkShare, 1);
  if (own->second.size() >= share) drop(own->second.begin()->second);
}

// False if the list is full of blocks that are worth more.
bool BlockList::make_room_for(Worth worth) {
  if (lists_.entries.size() < blocks_max_) return true;
  const auto& [least, end] = *lists_.by_worth.begin();
  if (least > worth || (least == worth && worth == Worth::kByHand)) return false;
  drop(end.second);
  return true;
}

void BlockList::drop(std::uint64_t tag) {
  const auto entry = lists_.entries.find(tag);
  dropped_.fetch_add(is_lift(entry->second.block) ? 0 : 1, std::memory_order_relaxed);
  remove(entry);
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
  const End end(entry->second.block.until, entry->first);
  lists_.ends.erase(end);
  lists_.by_worth.erase({entry->second.worth, end});
  kept_ -= entry->second.worth == Worth::kKept ? 1 : 0;
  count_out(entry->second);
  for (const Audience audience : kAudienceNames) unmark(entry->second, audience);
  if (const Network& network = entry->second.network) {
    const auto own = lists_.by_network.find(*network);
    own->second.erase(end);
    if (own->second.empty()) lists_.by_network.erase(own);
  }
  lists_.entries.erase(entry);
}

// A hand's block that has ended goes on as a lift of what it has replaced. Nodes move within their
// lists, which cannot fail.
void BlockList::outlive(Entries::iterator entry) noexcept {
  Block& block = entry->second.block;
  count_out(entry->second);
  slots_[entry->second.slot].until_us.store(kOver, std::memory_order_release);
  const End end(block.until, entry->first);
  const End later(entry->second.remembered, entry->first);
  auto in_ends = lists_.ends.extract(end);
  in_ends.value() = later;
  lists_.ends.insert(std::move(in_ends));
  auto in_worth = lists_.by_worth.extract({entry->second.worth, end});
  in_worth.value() = {Worth::kLift, later};
  lists_.by_worth.insert(std::move(in_worth));
  entry->second.worth = Worth::kLift;
  entry->second.blocked.reset();
  block.reason = BlockReason::kLifted;
  block.until = later.first;
}

void BlockList::expire_locked(Instant now) {
  while (!lists_.ends.empty() && lists_.ends.begin()->first <= now) {
    const auto entry = lists_.entries.find(lists_.ends.begin()->second);
    if (entry->second.remembered > now) {
      outlive(entry);
    } else {
      remove(entry);
    }
  }
}

}  // namespace weir
