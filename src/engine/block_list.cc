#include "engine/block_list.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <string>
#include <utility>

namespace weir {

std::optional<Instant> BlockList::until(std::string_view rule, std::string_view key,
                                        const std::optional<IpAddress>& client,
                                        Instant now) const noexcept {
  const HashedName name = hasher().hash_names({.rule = rule, .bucket = {}, .key = StoredKey(key)});
  return until(name, rule, key, client, now);
}

// ---- acts ----

bool BlockList::add(Block block, Instant now) {
  shorten(block);
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
  const auto known = book_.known_of(block);
  if (!is_by_hand(block) && block.until <= known.end()) return true;
  block.began = block.since;
  block.since = std::max(block.since, known.newest() + Duration(1));
  auto* const entry = book_.put(block, known, now);
  if (entry != nullptr) tell(*entry, std::nullopt);
  return entry != nullptr;
}

// A known block is news for nobody, or two nodes would send it to each other for ever. A person's
// block that ended on its way becomes a lift of what was before it.
void BlockList::learn(Block block, std::optional<Audience> from, Instant now,
                      std::string_view teller) {
  shorten(block);
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
  if (block.began == Instant{}) block.began = std::min(block.since, now);
  if (block.until <= now && !is_by_hand(block)) return;
  if (block.until <= now && !is_lift(block)) block.reason = BlockReason::kEnded;
  const auto known = book_.known_of(block);
  if (!known.has(block)) {
    auto* const entry = book_.put(block, known, now);
    if (entry != nullptr) tell(*entry, from, teller);
    return;
  }
  auto* const same = known.same_as(block);
  const bool is_same = same != nullptr && same->block.since == block.since;
  if (from && is_same) news_.hear(*from, same->news);
}

void BlockList::tell(BlockBook::Entry& entry, std::optional<Audience> except,
                     std::string_view teller) {
  news_.tell(entry.tag, entry.news, except);
  if (!is_by_hand(entry.block) || entry.block.reason == BlockReason::kEnded) return;
  acts_.push_back({.block = entry.block});
  if (except) acts_.back().teller = teller;
  if (acts_.size() > kActsMax) acts_.pop_front();
}

bool BlockList::lift(std::string_view rule, std::string_view key, Instant now) {
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
  return lift_locked(rule, key, now);
}

bool BlockList::lift_unless_by_hand(std::string_view rule, std::string_view key, Instant now) {
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
  const Block named{.rule = std::string(rule), .key = std::string(StoredKey(key))};
  const auto* const by_hand = book_.known_of(named).by_hand;
  if (by_hand != nullptr && !is_lift(by_hand->block)) return false;
  return lift_locked(rule, key, now);
}

// Lifts the block by a person and the block by the rule.
bool BlockList::lift_locked(std::string_view rule, std::string_view key, Instant now) {
  Block lift{.rule = std::string(rule),
             .key = std::string(StoredKey(key)),
             .until = now,
             .reason = BlockReason::kLifted,
             .began = now};
  const auto known = book_.known_of(lift);
  if (known.end() <= now) return false;
  lift.since = std::max(now, known.newest() + Duration(1));
  auto* const entry = book_.put(lift, known, now);
  if (entry != nullptr) tell(*entry, std::nullopt);
  return true;
}

std::size_t BlockList::lift_all(std::string_view key, Instant now) {
  const auto network = network_to_block(key);
  const auto name = network ? network->short_text() : std::string(StoredKey(key));
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
  std::set<std::string> rules;
  for (const auto& [tag, entry] : book_.entries()) {
    if (entry.block.key == name && !is_lift(entry.block)) rules.insert(entry.block.rule);
  }
  for (const std::string& rule : rules) lift_locked(rule, name, now);
  return rules.size();
}

void BlockList::forget(std::string_view rule, std::string_view key) {
  const std::scoped_lock lock(mutex_);
  const auto known = book_.known_of({.rule = std::string(rule), .key = std::string(key)});
  for (auto* const entry : {known.by_hand, known.by_rule}) {
    if (entry != nullptr) book_.remove(*entry);
  }
}

// ---- news ----

void BlockList::share(Audience audience, std::optional<std::span<const Block>> first) {
  {
    const std::scoped_lock lock(mutex_);
    if (!news_.begin(audience)) return;
  }
  tell_again(audience, first);
}

void BlockList::stop_sharing(Audience audience) {
  const std::scoped_lock lock(mutex_);
  const auto& untold = news_.untold(audience);
  while (!untold.empty()) news_.unmark(audience, book_.find(untold.begin()->second)->news);
  news_.end(audience);
}

void BlockList::tell_again(Audience audience, std::optional<std::span<const Block>> blocks) {
  const std::scoped_lock lock(mutex_);
  if (!blocks) {
    for (auto& [tag, entry] : book_.entries()) news_.mark(audience, tag, entry.news);
    return;
  }
  for (const Block& block : *blocks) {
    auto* const entry = book_.find(block);
    if (entry != nullptr) news_.mark(audience, entry->tag, entry->news);
  }
}

std::uint64_t BlockList::tell_late(std::uint64_t until) {
  const std::scoped_lock lock(mutex_);
  const auto& late = news_.untold(Audience::kWorldLate);
  while (!late.empty() && late.begin()->first <= until) {
    auto* const entry = book_.find(late.begin()->second);
    news_.mark(Audience::kWorld, entry->tag, entry->news);
    news_.unmark(Audience::kWorldLate, entry->news);
  }
  return news_.last();
}

std::vector<Block> BlockList::take_news(Audience audience, std::size_t blocks_max) {
  const std::scoped_lock lock(mutex_);
  const auto& untold = news_.untold(audience);
  std::vector<Block> taken;
  for (const auto& [number, tag] : std::views::reverse(untold) | std::views::take(blocks_max)) {
    taken.push_back(book_.find(tag)->block);
  }
  is_telling_fleet_ = audience == Audience::kFleet ? !taken.empty() : is_telling_fleet_;
  // There was memory for all blocks.
  for (std::size_t i = 0; i < taken.size(); ++i) {
    news_.unmark(audience, book_.find(untold.rbegin()->second)->news);
  }
  return taken;
}

std::deque<BlockList::Act> BlockList::take_acts() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(acts_, {});
}

bool BlockList::has_news(Audience audience) const {
  const std::scoped_lock lock(mutex_);
  return !news_.untold(audience).empty();
}

std::optional<bool> BlockList::has_told_fleet() const {
  const std::scoped_lock lock(mutex_);
  if (!news_.is_kept(Audience::kFleet)) return std::nullopt;
  return !is_telling_fleet_ && news_.untold(Audience::kFleet).empty();
}

void BlockList::fleet_has_heard() {
  const std::scoped_lock lock(mutex_);
  is_telling_fleet_ = false;
}

// ---- lists ----

std::vector<Block> BlockList::list(std::string_view rule, std::size_t blocks_max, Instant now) {
  expire(now);
  const std::scoped_lock lock(mutex_);
  std::vector<Block> blocks;
  for (const auto& [until, tag] : book_.ends()) {
    if (blocks.size() == blocks_max) break;
    const Block& block = book_.find(tag)->block;
    if (is_lift(block)) continue;
    if (rule.empty() || block.rule == rule) blocks.push_back(block);
  }
  return blocks;
}

std::vector<Block> BlockList::lifts(Instant now) {
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
  std::vector<Block> lifts;
  for (const auto& [until, tag] : std::views::reverse(book_.ends())) {
    const Block& block = book_.find(tag)->block;
    if (is_lift(block)) lifts.push_back(block);
  }
  return lifts;
}

void BlockList::expire(Instant now) {
  if (empty()) return;
  const std::scoped_lock lock(mutex_);
  book_.expire(now);
}

}  // namespace weir
