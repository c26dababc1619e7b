#include "engine/block_list.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <ranges>
#include <system_error>
#include <tuple>
#include <utility>

namespace weir {
namespace {

// Slots for each block. A quarter full, runs of taken slots stay short.
constexpr std::size_t kSparseness = 4;

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

// Orders the acts of one register. Two nodes may act in one microsecond.
auto order_of(const Block& block) {
  return std::tuple(block.since, is_lift(block), std::string_view(block.by),
                    std::string_view(block.why));
}

// As a list keeps it.
void shorten(Block& block) {
  const auto network = blocked_network(block);
  block.key = network ? network->to_string() : std::string(StoredKey(block.key));
  if (block.by.size() > BlockList::kByMax) block.by.resize(BlockList::kByMax);
  if (block.why.size() > BlockList::kWhyMax) block.why.resize(BlockList::kWhyMax);
}

}  // namespace

std::optional<BlockedNetwork> blocked_network(const Block& block) {
  return is_by_hand(block) ? BlockedNetwork::parse(block.key) : std::nullopt;
}

std::string_view reason_name(BlockReason reason) {
  if (reason == BlockReason::kLifted) return "lifted";
  return reason == BlockReason::kManual ? "manual" : "denied";
}

BlockList::BlockList(const KeyHasher& hasher, std::size_t blocks_max)
    : hasher_(hasher),
      by_rule_(hasher.hash_bucket("blocks")),
      by_hand_(hasher.hash_bucket("blocks by hand")),
      blocks_max_(std::max<std::size_t>(blocks_max, 1)),
      slots_(std::bit_ceil(std::max(kSparseness * blocks_max, kProbesMax))) {
  lists_.entries.reserve(blocks_max_);
}

std::uint64_t BlockList::tag_of(std::string_view rule, std::string_view key,
                                KeyHash bucket) const noexcept {
  return tag_of(hasher_.hash_names({.rule = rule, .bucket = {}, .key = StoredKey(key)}), bucket);
}

std::uint64_t BlockList::tag_of(HashedName name, KeyHash bucket) const noexcept {
  name.bucket = bucket;
  // The same for all quotas of the rule: which one is hashed along does not matter.
  const KeyHash hash = KeyHasher::combine_names(name, Quota());
  return std::max<std::uint64_t>(hash.high ^ hash.low, 1);
}

std::uint64_t BlockList::tag_of(const Block& block) const noexcept {
  if (!is_by_hand(block)) return tag_of(block.rule, block.key, by_rule_);
  const auto network = BlockedNetwork::parse(block.key);
  return network ? tag_of(block.rule, *network) : tag_of(block.rule, block.key, by_hand_);
}

std::uint64_t BlockList::tag_of(std::string_view rule,
                                const BlockedNetwork& network) const noexcept {
  std::array<char, sizeof(IpAddress::Bytes) + 1> name;
  std::ranges::copy(network.address.bytes(), name.begin());
  name.back() = static_cast<char>(network.bits);
  const std::string_view key(name.data(), name.size());
  const KeyHash hash = hasher_.hash({.rule = rule, .bucket = "networks", .key = key}, Quota());
  return std::max<std::uint64_t>(hash.high ^ hash.low, 1);
}

std::size_t BlockList::home_of(std::uint64_t tag) const noexcept {
  return tag & (slots_.size() - 1);
}

std::optional<Instant> BlockList::until(std::string_view rule, std::string_view key,
                                        const std::optional<IpAddress>& client,
                                        Instant now) const noexcept {
  const HashedName name = hasher_.hash_names({.rule = rule, .bucket = {}, .key = StoredKey(key)});
  return until(name, rule, key, client, now);
}

std::optional<Instant> BlockList::until(const HashedName& name, std::string_view rule,
                                        std::string_view key,
                                        const std::optional<IpAddress>& client,
                                        Instant now) const noexcept {
  auto until = end_at(tag_of(name, by_rule_), now);
  if (keys_of_rules_.load(std::memory_order_relaxed) > 0) {
    until = std::max(until, end_at(tag_of(name, by_hand_), now));
  }
  if (keys_for_all_.load(std::memory_order_relaxed) > 0) {
    until = std::max(until, end_at(tag_of({}, key, by_hand_), now));
  }
  if (networks_.empty()) return until;
  const auto named = BlockedNetwork::around(key);
  if (named) until = std::max(until, end_around(rule, *named, now));
  const bool is_named = named && named->is_single() && named->address == client;
  if (client && !is_named) {
    const unsigned bits = client->is_v4() ? 32 : 128;
    until = std::max(until, end_around(rule, {.address = *client, .bits = bits}, now));
  }
  return until;
}

// The latest end of the networks that this one is in.
std::optional<Instant> BlockList::end_around(std::string_view rule, const BlockedNetwork& inner,
                                             Instant now) const noexcept {
  std::optional<Instant> end;
  networks_.each_around(inner, BlockScope::kRule, [&](const BlockedNetwork& network) {
    end = std::max(end, end_at(tag_of(rule, network), now));
  });
  networks_.each_around(inner, BlockScope::kAllRules, [&](const BlockedNetwork& network) {
    end = std::max(end, end_at(tag_of({}, network), now));
  });
  return end;
}

std::optional<Instant> BlockList::end_at(std::uint64_t tag, Instant now) const noexcept {
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

BlockList::Known BlockList::known_of(const Block& block) {
  const auto network = BlockedNetwork::parse(block.key);
  return {.by_hand = lists_.entries.find(network ? tag_of(block.rule, *network)
                                                 : tag_of(block.rule, block.key, by_hand_)),
          .by_rule = lists_.entries.find(tag_of(block.rule, block.key, by_rule_))};
}

Instant BlockList::newest_in(const Known& known) const {
  Instant newest = Instant::min();
  for (const auto& found : {known.by_hand, known.by_rule}) {
    if (found != lists_.entries.end()) newest = std::max(newest, found->second.block.since);
  }
  return newest;
}

// Long ago if neither blocks.
Instant BlockList::end_in(const Known& known) const {
  Instant end = Instant::min();
  for (const auto& found : {known.by_hand, known.by_rule}) {
    const bool blocks = found != lists_.entries.end() && !is_lift(found->second.block);
    if (blocks) end = std::max(end, found->second.block.until);
  }
  return end;
}

// Or older than what is known.
bool BlockList::is_known(const Block& block, const Known& known) const {
  const auto end = lists_.entries.end();
  const auto& same = is_by_hand(block) ? known.by_hand : known.by_rule;
  if (same != end && order_of(block) <= order_of(same->second.block)) return true;
  return !is_by_hand(block) && known.by_hand != end &&
         block.since <= known.by_hand->second.block.since;
}

bool BlockList::add(Block block, Instant now) {
  shorten(block);
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
  const Known known = known_of(block);
  if (!is_by_hand(block) && block.until <= end_in(known)) return true;
  block.since = std::max(block.since, newest_in(known) + Duration(1));
  if (!put(block, known, now)) return false;
  tell(block, std::nullopt);
  return true;
}

// A block that is known already goes to nobody, or two nodes would send it to each other for ever.
// One by hand that has ended on its way is a lift of what was before it.
void BlockList::learn(Block block, std::optional<Audience> from, Instant now) {
  shorten(block);
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
  if (block.until <= now && !is_by_hand(block)) return;
  if (block.until <= now) block.reason = BlockReason::kLifted;
  const Known known = known_of(block);
  if (!is_known(block, known)) {
    put(block, known, now);
    return tell(block, from);
  }
  const auto& same = is_by_hand(block) ? known.by_hand : known.by_rule;
  const bool is_same = same != lists_.entries.end() && same->second.block.since == block.since;
  if (from && is_same) unmark(same->second, *from);
}

bool BlockList::lift(std::string_view rule, std::string_view key, Instant now) {
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
  return lift_locked(rule, key, now);
}

// What a hand has blocked, and what the rule has.
bool BlockList::lift_locked(std::string_view rule, std::string_view key, Instant now) {
  Block lift{.rule = std::string(rule),
             .key = std::string(StoredKey(key)),
             .until = now,
             .reason = BlockReason::kLifted};
  const Known known = known_of(lift);
  if (end_in(known) <= now) return false;
  lift.since = std::max(now, newest_in(known) + Duration(1));
  put(lift, known, now);
  tell(lift, std::nullopt);
  return true;
}

std::size_t BlockList::lift_all(std::string_view key, Instant now) {
  const auto network = BlockedNetwork::parse(key);
  const auto name = network ? network->to_string() : std::string(StoredKey(key));
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
  std::set<std::string> rules;
  for (const auto& [tag, entry] : lists_.entries) {
    if (entry.block.key == name && !is_lift(entry.block)) rules.insert(entry.block.rule);
  }
  for (const std::string& rule : rules) lift_locked(rule, name, now);
  return rules.size();
}

void BlockList::forget(std::string_view rule, std::string_view key) {
  const std::scoped_lock lock(mutex_);
  const Known known = known_of({.rule = std::string(rule), .key = std::string(key)});
  for (const auto& found : {known.by_hand, known.by_rule}) {
    if (found != lists_.entries.end()) remove(found);
  }
}

void BlockList::share(Audience audience) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(news_for(audience).is_kept, true)) return;
  }
  tell_again(audience);
}

void BlockList::share_from(Audience audience, std::span<const Block> first) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(news_for(audience).is_kept, true)) return;
  }
  tell_again(audience, first);
}

void BlockList::stop_sharing(Audience audience) {
  const std::scoped_lock lock(mutex_);
  News& news = news_for(audience);
  while (!news.tags.empty()) unmark(lists_.entries.at(news.tags.begin()->second), audience);
  news.is_kept = false;
}

void BlockList::tell_again(Audience audience, std::span<const Block> blocks) {
  const std::scoped_lock lock(mutex_);
  for (const Block& block : blocks) {
    const auto found = lists_.entries.find(tag_of(block));
    if (found != lists_.entries.end()) mark(*found, audience);
  }
}

void BlockList::tell_again(Audience audience) {
  const std::scoped_lock lock(mutex_);
  for (auto& entry : lists_.entries) mark(entry, audience);
}

void BlockList::tell(const Block& block, std::optional<Audience> except) {
  const auto entry = lists_.entries.find(tag_of(block));
  if (entry == lists_.entries.end()) return;
  for (const Audience audience : kAudienceNames) {
    if (audience != except && news_for(audience).is_kept) mark(*entry, audience);
  }
}

void BlockList::mark(Entries::value_type& entry, Audience audience) {
  std::uint64_t& number = entry.second.news[static_cast<std::size_t>(audience)];
  if (number != 0) return;
  news_for(audience).tags.emplace(last_news_ + 1, entry.first);
  number = ++last_news_;
}

void BlockList::unmark(Entry& entry, Audience audience) {
  std::uint64_t& number = entry.news[static_cast<std::size_t>(audience)];
  if (number != 0) news_for(audience).tags.erase(std::exchange(number, 0));
}

std::vector<Block> BlockList::take_news(Audience audience, std::size_t blocks_max) {
  const std::scoped_lock lock(mutex_);
  const auto& tags = news_for(audience).tags;
  std::vector<Block> taken;
  for (const auto& [number, tag] : std::views::reverse(tags) | std::views::take(blocks_max)) {
    taken.push_back(lists_.entries.at(tag).block);
  }
  // There was memory for all of them.
  for (std::size_t i = 0; i < taken.size(); ++i) {
    unmark(lists_.entries.at(tags.rbegin()->second), audience);
  }
  return taken;
}

bool BlockList::has_news(Audience audience) const {
  const std::scoped_lock lock(mutex_);
  return !news_[static_cast<std::size_t>(audience)].tags.empty();
}

std::vector<Block> BlockList::list(std::string_view rule, std::size_t blocks_max, Instant now) {
  expire(now);
  const std::scoped_lock lock(mutex_);
  std::vector<Block> blocks;
  for (const auto& [until, tag] : lists_.ends) {
    if (blocks.size() == blocks_max) break;
    const Block& block = lists_.entries.at(tag).block;
    if (is_lift(block)) continue;
    if (rule.empty() || block.rule == rule) blocks.push_back(block);
  }
  return blocks;
}

std::vector<Block> BlockList::lifts(Instant now) {
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
  std::vector<Block> lifts;
  for (const auto& [until, tag] : std::views::reverse(lists_.ends)) {
    const Block& block = lists_.entries.at(tag).block;
    if (is_lift(block)) lifts.push_back(block);
  }
  return lifts;
}

void BlockList::expire(Instant now) {
  if (empty()) return;
  const std::scoped_lock lock(mutex_);
  expire_locked(now);
}

}  // namespace weir
