// BlockList: the keys and networks that are denied until a known instant, without being counted.
//
//   until()               index: a look by every request, without locks       block_index.h
//   add, learn, lift      book: who has a place, and who makes room           block_book.h
//   share, take_news      news: what the other nodes or processes have not heard    block_news.h
//
// Looked at before any counter, by every request; so a look is one probe of a table without
// locks, and while nobody is blocked one load. Adding, lifting and listing take a lock: they
// happen when somebody is denied, not when somebody asks.
//
// A hand may block for all rules: the block's rule is empty. A hand may block an address or a
// network ("203.0.113.0/24", "2001:db8::/32"). That block holds for clients whose address is in it,
// whatever the rule's key is, and for keys that are such an address or network. A look then probes
// once for each length of networks that is blocked (blocked_networks.h).
//
// Several lists that tell each other all agree, in whatever order they hear it: of two acts on a
// rule and key the newer counts. An act is never older than what its list knows, however far the
// clocks are apart.
//
// Thread rule: any thread. Tested by block_list_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "engine/block.h"
#include "engine/block_book.h"
#include "engine/block_index.h"
#include "engine/block_news.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

// check:allow(methods): one lock guards what requests, hands, nodes and pages want of it
class BlockList {
 public:
  static constexpr std::size_t kBlocksMax = 65'536;
  static constexpr std::size_t kActsMax = 50;
  using Audience = BlockAudience;

  // `hasher` must outlive the list.
  explicit BlockList(const KeyHasher& hasher, std::size_t blocks_max = kBlocksMax)
      : index_(hasher, blocks_max), book_(index_, news_, blocks_max) {}
  BlockList(const BlockList&) = delete;
  BlockList& operator=(const BlockList&) = delete;

  // Nobody is blocked: until() need not be asked. One relaxed load.
  bool empty() const noexcept { return index_.empty(); }
  std::size_t size() const noexcept { return index_.size(); }

  // Until when this rule denies the key, or the client, if that is known. Nothing if it does
  // not. An empty rule is a limit without one. No lock, no allocation.
  std::optional<Instant> until(std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept;
  std::optional<Instant> until(std::string_view rule, std::string_view key,
                               Instant now) const noexcept {
    return until(rule, key, std::nullopt, now);
  }

  // The same for a caller that has hashed rule and key already, by the hasher of the list, and
  // whatever bucket.
  // REQUIRES: the key has at most Block::kKeyMax bytes
  std::optional<Instant> until(const HashedName& name, std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept {
    return index_.until(name, rule, key, client, now);
  }
  const KeyHasher& hasher() const { return index_.hasher(); }

  // Blocks, or changes the end of a block, which a rule never brings nearer: only a hand does.
  // False if the list is full of blocks that are worth more, or networks of as many lengths as
  // BlockedNetworks takes are blocked already.
  bool add(Block block, Instant now);

  // False if it was not blocked.
  bool lift(std::string_view rule, std::string_view key, Instant now);
  // Of all kinds of blocks, of single rules or of all. Returns how many there were. Slow.
  std::size_t lift_all(std::string_view key, Instant now);

  // From now on what is added or lifted is kept, to be told to these. The first to be told are all
  // blocks and lifts that are here, or `first`. Nothing happens if it is shared with them already.
  void share(Audience audience, std::optional<std::span<const Block>> first = {});
  void stop_sharing(Audience audience);
  // The newest news, as they are now, which are no longer kept.
  std::vector<Block> take_news(Audience audience, std::size_t blocks_max);
  bool has_news(Audience audience) const;
  // Whether the fleet's Redis has taken all that is known here. Nothing: no fleet is told of it.
  std::optional<bool> has_told_fleet() const;
  // It has taken what take_news() has returned last.
  void fleet_has_heard();
  // The blocks and lifts that people have made since the last call: the newest, in their order.
  struct Act {
    Block block;
    std::optional<std::string> teller{};  // the node, or process, that told of it; nothing: none
  };
  std::deque<Act> take_acts();
  // They have not heard of these, or of anything.
  void tell_again(Audience audience, std::optional<std::span<const Block>> blocks = {});
  // An earlier call has returned `until`. All places are told now of what this place had told by
  // then, unless one of them has told it since.
  std::uint64_t tell_late(std::uint64_t until);
  // A message of one of these, or of a file: news for the others, if it is newer than what is
  // known. `teller`: its name; empty: unknown.
  void learn(Block block, std::optional<Audience> from, Instant now, std::string_view teller = {});
  // Nobody is told, and nothing remembered.
  void forget(std::string_view rule, std::string_view key);

  // The blocks of one rule, or of all if it is empty; the first to end comes first.
  std::vector<Block> list(std::string_view rule, std::size_t blocks_max, Instant now);
  // Those that are remembered, the last to be forgotten first.
  std::vector<Block> lifts(Instant now);

  // Forgets those that have ended. Cheap when there are none; done by add() as well.
  void expire(Instant now);

  // Grows with each block that is added or lifted; those that end do not count.
  std::uint64_t changes() const noexcept { return book_.changes(); }

  // Blocks that a full list has dropped before their end, or not taken.
  std::uint64_t dropped() const noexcept { return book_.dropped(); }

 private:
  bool lift_locked(std::string_view rule, std::string_view key, Instant now);
  void tell(BlockBook::Entry& entry, std::optional<Audience> except, std::string_view teller = {});

  BlockIndex index_;
  mutable std::mutex mutex_;  // guards what follows, and writing to index_
  BlockNews news_;
  BlockBook book_;
  std::deque<Act> acts_;
  bool is_telling_fleet_ = false;
};

}  // namespace weir
