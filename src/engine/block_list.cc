#include "engine/block_list.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

namespace weir {
namespace {

// Slots for each block. A quarter full, runs of taken slots stay short.
constexpr std::size_t kSparseness = 4;

// Shares of the list: for the first that come, and for the addresses of one network.
constexpr std::size_t kKeptShare = 2;
constexpr std::size_t kNetworkShare = 16;
constexpr unsigned kNetworkBitsV4 = 16;
constexpr unsigned kNetworkBitsV6 = 48;

// The longest run that is looked through. A block that finds no place within it is not
// added before another has made room.
constexpr std::size_t kProbesMax = 64;

// A key as the list keeps it, and as files and other nodes read it. A long one becomes its
// beginning, for people, and a digest of all of it, which needs no secret, so that all agree.
class StoredKey {
 public:
  explicit StoredKey(std::string_view key) noexcept : text_(key) {
    if (key.size() <= BlockList::kKeyMax) return;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
    char* end = std::ranges::copy(key.substr(0, kBegin), short_.begin()).out;
    end = std::ranges::copy(kMark, end).out;
    for (const unsigned char byte : digest) {
      *end++ = "0123456789abcdef"[byte >> 4];
      *end++ = "0123456789abcdef"[byte & 15];
    }
    text_ = {short_.begin(), end};
  }
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;

  operator std::string_view() const { return text_; }

 private:
  static constexpr std::size_t kBegin = 128;
  static constexpr std::string_view kMark = "...sha256:";

  std::array<char, kBegin + kMark.size() + 2 * SHA256_DIGEST_LENGTH> short_;
  std::string_view text_;
};

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

}  // namespace

std::string_view reason_name(BlockReason reason) {
  return reason == BlockReason::kManual ? "manual" : "denied";
}

BlockList::BlockList(const KeyHasher& hasher, std::size_t blocks_max)
    : hasher_(hasher),
      blocks_max_(std::max<std::size_t>(blocks_max, 1)),
      slots_(std::bit_ceil(std::max(kSparseness * blocks_max, kProbesMax))) {
  lists_.entries.reserve(blocks_max_);
}

std::uint64_t BlockList::tag_of(std::string_view rule, std::string_view key) const noexcept {
  // The same for all quotas of the rule: which one is hashed along does not matter.
  const KeyHash hash =
      hasher_.hash({.rule = rule, .bucket = "blocks", .key = StoredKey(key)}, Quota());
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
  tell(block, std::nullopt);
  return true;
}

bool BlockList::insert(Block& block, Instant now) {
  if (block.key.size() > kKeyMax) block.key = std::string(StoredKey(block.key));
  const std::uint64_t tag = tag_of(block.rule, block.key);
  const std::int64_t until_us = std::max<std::int64_t>(epoch_us(block.until), 1);
  expire_locked(now);
  const bool by_hand = block.reason == BlockReason::kManual;
  const auto known = lists_.entries.find(tag);
  const bool is_known = known != lists_.entries.end();
  if (is_known && !by_hand && block.until <= known->second.block.until) return true;

  Lists own = lists_of(tag, block);  // or there is no memory, and the known block stays
  if (is_known) remove(known);
  make_room_in(own.entries.begin()->second.network);
  const Worth worth = by_hand                            ? Worth::kByHand
                      : kept_ < blocks_max_ / kKeptShare ? Worth::kKept
                                                         : Worth::kOther;
  const bool has_room = block.rule.size() <= kKeyMax && make_room_for(worth);
  const auto slot = free_slot(tag);
  if (!has_room || !slot) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  take(own, worth, *slot);
  slots_[*slot].tag.store(tag, std::memory_order_release);
  slots_[*slot].until_us.store(until_us, std::memory_order_release);
  count_.store(lists_.entries.size(), std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_relaxed);
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
  if (block.reason != BlockReason::kManual) entry.network = network_of(block.key);
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
  lists_.entries.merge(own.entries);
  lists_.ends.merge(own.ends);
  lists_.by_network.merge(own.by_network);
  for (auto& [network, ends] : own.by_network) lists_.by_network.at(network).merge(ends);
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
  if (least > worth) return false;
  drop(end.second);
  return true;
}

void BlockList::drop(std::uint64_t tag) {
  remove(lists_.entries.find(tag));
  dropped_.fetch_add(1, std::memory_order_relaxed);
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
  if (const Network& network = entry->second.network) {
    const auto own = lists_.by_network.find(*network);
    own->second.erase(end);
    if (own->second.empty()) lists_.by_network.erase(own);
  }
  lists_.entries.erase(entry);
  count_.store(lists_.entries.size(), std::memory_order_relaxed);
}

bool BlockList::lift(std::string_view rule, std::string_view key) {
  const std::scoped_lock lock(mutex_);
  if (!erase(rule, key)) return false;
  tell({.rule = std::string(rule), .key = std::string(StoredKey(key))}, std::nullopt);
  return true;
}

bool BlockList::erase(std::string_view rule, std::string_view key) {
  const auto found = lists_.entries.find(tag_of(rule, key));
  if (found == lists_.entries.end()) return false;
  remove(found);
  changes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void BlockList::forget(std::string_view rule, std::string_view key) {
  const std::scoped_lock lock(mutex_);
  erase(rule, key);
}

void BlockList::share(Audience audience) {
  const std::scoped_lock lock(mutex_);
  News& news = news_for(audience);
  if (std::exchange(news.is_kept, true)) return;
  for (const auto& [tag, entry] : lists_.entries) news.add(entry.block);
}

void BlockList::share_from(Audience audience, std::vector<Block> first) {
  const std::scoped_lock lock(mutex_);
  News& news = news_for(audience);
  if (std::exchange(news.is_kept, true)) return;
  for (Block& block : first) news.add(std::move(block));
}

void BlockList::stop_sharing(Audience audience) {
  const std::scoped_lock lock(mutex_);
  news_for(audience) = {};
}

void BlockList::News::add(Block block) {
  if (blocks.size() == kNewsMax) blocks.pop_front();
  blocks.push_back(std::move(block));
}

void BlockList::tell(const Block& block, std::optional<Audience> except) {
  for (const Audience audience : {Audience::kFleet, Audience::kProcesses}) {
    if (audience != except && news_for(audience).is_kept) news_for(audience).add(block);
  }
}

std::vector<Block> BlockList::take_news(Audience audience, std::size_t blocks_max) {
  const std::scoped_lock lock(mutex_);
  auto& news = news_for(audience).blocks;
  const auto end = news.begin() + static_cast<std::ptrdiff_t>(std::min(blocks_max, news.size()));
  std::vector<Block> taken(std::make_move_iterator(news.begin()), std::make_move_iterator(end));
  news.erase(news.begin(), end);
  return taken;
}

bool BlockList::has_news(Audience audience) const {
  const std::scoped_lock lock(mutex_);
  return !news_[static_cast<std::size_t>(audience)].blocks.empty();
}

// A block that is known already goes to nobody, or two nodes would send it to each other for ever.
void BlockList::learn(Block block, Audience from, Instant now) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t before = changes();
  if (block.until > now) {
    insert(block, now);
  } else {
    erase(block.rule, block.key);
  }
  if (changes() != before) tell(block, from);
}

std::vector<Block> BlockList::list(std::string_view rule, std::size_t blocks_max, Instant now) {
  expire(now);
  const std::scoped_lock lock(mutex_);
  std::vector<Block> blocks;
  for (const auto& [until, tag] : lists_.ends) {
    if (blocks.size() == blocks_max) break;
    const Block& block = lists_.entries.at(tag).block;
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
  while (!lists_.ends.empty() && lists_.ends.begin()->first <= now) {
    remove(lists_.entries.find(lists_.ends.begin()->second));
  }
}

}  // namespace weir
