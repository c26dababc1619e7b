#include "engine/block_book.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <tuple>

namespace weir {
namespace {

// Shares of the list: for the first blocks, and for the addresses of one network.
constexpr std::size_t kKeptShare = 2;
constexpr std::size_t kNetworkShare = 16;
constexpr unsigned kNetworkBitsV4 = 16;
constexpr unsigned kNetworkBitsV6 = 48;

// The network of "192.0.2.1", or of a network as in the key "client/24/48".
std::optional<IpAddress> network_of_address(std::string_view text) {
  const auto address = IpAddress::parse(text.substr(0, text.find('/')));
  if (!address) return std::nullopt;
  return address->network(address->is_v4() ? kNetworkBitsV4 : kNetworkBitsV6);
}

// The network of the key, or of its first part that is an address, if it has several parts
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

// Orders the acts of one register. Two nodes may act in the same microsecond.
auto order_of(const Block& block) {
  return std::tuple(block.since, is_lift(block), std::string_view(block.by),
                    std::string_view(block.why));
}

}  // namespace

BlockBook::BlockBook(BlockIndex& index, BlockNews& news, std::size_t blocks_max)
    : index_(index), news_(news), blocks_max_(std::max<std::size_t>(blocks_max, 1)) {
  entries_.reserve(blocks_max_);
}

// ---- what is known ----

Instant BlockBook::Known::newest() const {
  Instant newest = Instant::min();
  for (const Entry* const found : {by_hand, by_rule}) {
    if (found != nullptr) newest = std::max(newest, found->block.since);
  }
  return newest;
}

Instant BlockBook::Known::end() const {
  Instant end = Instant::min();
  for (const Entry* const found : {by_hand, by_rule}) {
    if (found != nullptr && !is_lift(found->block)) end = std::max(end, found->block.until);
  }
  return end;
}

bool BlockBook::Known::has(const Block& block) const {
  const Entry* const same = same_as(block);
  if (same != nullptr && order_of(block) <= order_of(same->block)) return true;
  return !is_by_hand(block) && by_hand != nullptr && block.since <= by_hand->block.since;
}

BlockBook::Known BlockBook::known_of(const Block& block) {
  return {.by_hand = find(index_.tag_of(block, true)),
          .by_rule = find(index_.tag_of(block, false))};
}

BlockBook::Entry* BlockBook::find(std::uint64_t tag) {
  const auto found = entries_.find(tag);
  return found == entries_.end() ? nullptr : &found->second;
}

// ---- places ----

BlockBook::Entry* BlockBook::put(const Block& block, const Known& known, Instant now) {
  const auto network = blocked_network(block);
  if (!is_lift(block) && network && !index_.has_room_for(*network)) {
    count_dropped(block);
    return nullptr;
  }
  const bool by_hand = is_by_hand(block);
  Entry* const old_hand = by_hand ? known.by_hand : nullptr;
  const bool outdates_rule =
      known.by_rule != nullptr && (!by_hand || known.by_rule->block.since <= block.since);
  Entry* const old_rule = outdates_rule ? known.by_rule : nullptr;
  Instant remembered = std::max(block.until, now + kRemembered);
  if (old_hand != nullptr) remembered = std::max(remembered, old_hand->remembered);
  if (old_rule != nullptr) remembered = std::max(remembered, old_rule->block.until);

  const std::uint64_t tag = index_.tag_of(block, by_hand);
  Block kept = block;
  if (is_lift(block)) kept.until = remembered;
  Nodes own = nodes_of(tag, kept);  // if memory is short, the known block stays
  Entry& entry = own.entry.begin()->second;
  entry.remembered = by_hand ? remembered : block.until;
  entry.blocked = is_lift(block) ? std::nullopt : network;
  if (old_hand != nullptr) remove(*old_hand);
  if (old_rule != nullptr) remove(*old_rule);
  make_room_in(entry.network);
  const Worth worth = is_lift(block)                     ? Worth::kLift
                      : by_hand                          ? Worth::kByHand
                      : kept_ < blocks_max_ / kKeptShare ? Worth::kKept
                                                         : Worth::kOther;
  changes_.fetch_add(1, std::memory_order_relaxed);
  const bool has_room = block.rule.size() <= Block::kKeyMax && make_room_for(worth);
  const auto slot = index_.free_slot(tag);
  if (has_room && slot) return &take(own, worth, *slot);
  count_dropped(block);
  return nullptr;
}

BlockBook::Nodes BlockBook::nodes_of(std::uint64_t tag, const Block& block) {
  Nodes nodes;
  Entry& entry = nodes.entry[tag];
  entry.block = block;
  entry.tag = tag;
  const End end(block.until, tag);
  nodes.end.insert(end);
  nodes.by_worth.emplace(entry.worth, end);
  if (!is_by_hand(block)) entry.network = network_of(block.key);
  if (entry.network) nodes.by_network[*entry.network].insert(end);
  return nodes;
}

// Moves nodes from list to list, which cannot fail.
BlockBook::Entry& BlockBook::take(Nodes& own, Worth worth, std::size_t slot) noexcept {
  Entry& entry = own.entry.begin()->second;
  entry.slot = slot;
  entry.worth = worth;
  auto by_worth = own.by_worth.extract(own.by_worth.begin());
  by_worth.value().first = worth;
  by_worth_.insert(std::move(by_worth));
  kept_ += worth == Worth::kKept ? 1 : 0;
  entries_.merge(own.entry);
  ends_.merge(own.end);
  by_network_.merge(own.by_network);
  for (auto& [network, ends] : own.by_network) by_network_.at(network).merge(ends);
  index_.put(slot, entry.tag, entry.block, entry.blocked);
  return entry;
}

// If the network has used its share of the list, one of its own blocks goes.
void BlockBook::make_room_in(const std::optional<IpAddress>& network) {
  const auto own = network ? by_network_.find(*network) : by_network_.end();
  if (own == by_network_.end()) return;
  const std::size_t share = std::max<std::size_t>(blocks_max_ / kNetworkShare, 1);
  if (own->second.size() >= share) drop(own->second.begin()->second);
}

// Returns false if the list is full of blocks that are worth more.
bool BlockBook::make_room_for(Worth worth) {
  if (entries_.size() < blocks_max_) return true;
  const auto& [least, end] = *by_worth_.begin();
  if (least > worth || (least == worth && worth == Worth::kByHand)) return false;
  drop(end.second);
  return true;
}

void BlockBook::drop(std::uint64_t tag) {
  Entry& entry = entries_.at(tag);
  count_dropped(entry.block);
  remove(entry);
}

void BlockBook::count_dropped(const Block& block) noexcept {
  dropped_.fetch_add(is_lift(block) ? 0 : 1, std::memory_order_relaxed);
}

void BlockBook::remove(Entry& entry) {
  index_.remove(entry.slot, entry.block, entry.blocked);
  const End end(entry.block.until, entry.tag);
  ends_.erase(end);
  by_worth_.erase({entry.worth, end});
  kept_ -= entry.worth == Worth::kKept ? 1 : 0;
  for (const BlockAudience audience : BlockNews::kAudiences) news_.unmark(audience, entry.news);
  if (entry.network) {
    const auto own = by_network_.find(*entry.network);
    own->second.erase(end);
    if (own->second.empty()) by_network_.erase(own);
  }
  entries_.erase(entry.tag);
}

// A person's block that has ended stays as a lift of what it replaced. Nodes move within their
// lists, which cannot fail.
void BlockBook::outlive(Entry& entry) noexcept {
  index_.end(entry.slot, entry.block, entry.blocked);
  const End end(entry.block.until, entry.tag);
  const End later(entry.remembered, entry.tag);
  auto in_ends = ends_.extract(end);
  in_ends.value() = later;
  ends_.insert(std::move(in_ends));
  auto in_worth = by_worth_.extract({entry.worth, end});
  in_worth.value() = {Worth::kLift, later};
  by_worth_.insert(std::move(in_worth));
  entry.worth = Worth::kLift;
  entry.blocked.reset();
  entry.block.reason = BlockReason::kEnded;
  entry.block.until = later.first;
}

void BlockBook::expire(Instant now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    Entry& entry = entries_.at(ends_.begin()->second);
    entry.remembered > now ? outlive(entry) : remove(entry);
  }
}

}  // namespace weir
