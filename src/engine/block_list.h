// BlockList: keys and networks that are denied until a known instant, without being counted.
//
//   until()               index: a look by every request, without locks       block_index.h
//   add, learn, lift      book: who has a place, and who makes room           block_book.h
//   share, take_news      news: what the other nodes or processes have not heard    block_news.h
//
// Every request looks here before any counter. So a look is one probe of a table without locks, or
// one load while nobody is blocked. Adding, lifting and listing take a lock: they happen when
// somebody is denied, not when somebody asks.
//
// A person may block for all rules: the block's rule is then empty. A person may block an address
// or a network ("203.0.113.0/24", "2001:db8::/32"). Such a block holds for clients with an address
// in it, whatever the rule's key is, and for keys that are such an address or network. A look then
// probes once for each length of blocked networks (blocked_networks.h).
//
// Lists that tell each other agree in the end, in whatever order they hear: of two acts on a rule
// and key the newer counts. An act is always newer than all that its list knows, however far the
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

  // Whether nobody is blocked, so that until() need not be asked. One relaxed load.
  bool empty() const noexcept { return index_.empty(); }
  std::size_t size() const noexcept { return index_.size(); }

  // Until when this rule denies the key, or the client, if that is known. Nothing if it does not.
  // An empty rule means a limit without a rule. No lock, no allocation.
  std::optional<Instant> until(std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept;
  std::optional<Instant> until(std::string_view rule, std::string_view key,
                               Instant now) const noexcept {
    return until(rule, key, std::nullopt, now);
  }

  // The same for a caller that has hashed rule and key with the list's hasher. The bucket does not
  // matter. REQUIRES: the key has at most Block::kKeyMax bytes
  std::optional<Instant> until(const HashedName& name, std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept {
    return index_.until(name, rule, key, client, now);
  }
  const KeyHasher& hasher() const { return index_.hasher(); }

  // Blocks, or changes the end of a block. A rule never makes a block shorter, only a person does.
  // False if the list is full of blocks that are worth more, or if it would need more lengths of
  // networks than BlockedNetworks takes.
  bool add(Block block, Instant now);

  // Returns false if the key was not blocked.
  bool lift(std::string_view rule, std::string_view key, Instant now);
  // The same, but only if no person blocks the key.
  bool lift_unless_by_hand(std::string_view rule, std::string_view key, Instant now);
  // Lifts all blocks of the key, of single rules and of all. Returns how many there were. Slow.
  std::size_t lift_all(std::string_view key, Instant now);

  // From now on blocks and lifts are news for this audience. First it is told all blocks and lifts
  // in the list, or only `first`. Does nothing if the list is shared with it already.
  void share(Audience audience, std::optional<std::span<const Block>> first = {});
  void stop_sharing(Audience audience);
  // Takes the newest news, in their current state; they are not kept any longer.
  std::vector<Block> take_news(Audience audience, std::size_t blocks_max);
  bool has_news(Audience audience) const;
  // Whether the fleet's Redis has taken all that this list knows. Nothing: no fleet is told.
  std::optional<bool> has_told_fleet() const;
  // The fleet's Redis has taken what take_news() returned last.
  void fleet_has_heard();
  // Takes the latest blocks and lifts by people since the last call, in their order.
  struct Act {
    Block block;
    std::optional<std::string> teller{};  // who told of it: a node, a process; empty: nobody
  };
  std::deque<Act> take_acts();
  // The audience has not heard of these blocks, or of any.
  void tell_again(Audience audience, std::optional<std::span<const Block>> blocks = {});
  // `until` is what an earlier call returned. Tells all places now what this place had told by
  // then, except news that this node has heard from all places since.
  std::uint64_t tell_late(std::uint64_t until);
  // Takes a block from this audience, or from a file. It is news for the others if it is newer than
  // what is known. `teller`: the sender's name; empty: unknown.
  void learn(Block block, std::optional<Audience> from, Instant now, std::string_view teller = {});
  // Removes the blocks of the key; tells nobody, and remembers nothing.
  void forget(std::string_view rule, std::string_view key);

  // The blocks of one rule, or of all rules if it is empty; those that end first come first.
  std::vector<Block> list(std::string_view rule, std::size_t blocks_max, Instant now);
  // The lifts that are remembered; those forgotten last come first.
  std::vector<Block> lifts(Instant now);

  // Removes what has ended. Cheap when there are no blocks; add() does it, too.
  void expire(Instant now);

  // Grows with each block that is added or lifted, but not when one ends.
  std::uint64_t changes() const noexcept { return book_.changes(); }

  // Blocks that a full list dropped before their end, or did not take.
  std::uint64_t dropped() const noexcept { return book_.dropped(); }

 private:
  bool lift_locked(std::string_view rule, std::string_view key, Instant now);
  void tell(BlockBook::Entry& entry, std::optional<Audience> except, std::string_view teller = {});

  BlockIndex index_;
  mutable std::mutex mutex_;  // guards all below, and writing to index_
  BlockNews news_;
  BlockBook book_;
  std::deque<Act> acts_;
  bool is_telling_fleet_ = false;
};

}  // namespace weir
