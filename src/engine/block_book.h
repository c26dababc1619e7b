// BlockBook: all that a list knows of its blocks and lifts, and which one goes when room is needed.
// All its entries are in the index, too.
//
// Memory is fixed at the start, so a full book drops blocks. An attacker who fills it must not
// thereby lift anybody else's block:
//
//   by hand        a block that somebody made is the last to go
//   kept           half of the list is for the first that come, until they end
//   others         make room for new ones, the nearest to its end first
//   of one network a /16 (IPv4) or /48 (IPv6) has a sixteenth of the list for the blocks of
//                  its addresses: beyond that they replace each other
//   lifts          are remembered in places that no block needs
//
// A rule and key have two registers. One has the newest act by hand, which is a block or a lift.
// The other has the rule's newest block, if it is newer than that act. The later end of the two
// holds. The book remembers an act by hand until everything that it ended would be over, and for
// kRemembered at least. Until then, an older block that arrives late does not hold.
//
// Thread rule: under the lock of the list, but for changes() and dropped(). Tested by
// block_list_test.cc and block_list_memory_test.cc.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/ip_address.h"
#include "engine/block.h"
#include "engine/block_index.h"
#include "engine/block_news.h"
#include "weir/time.h"

namespace weir {

class BlockBook {
 public:
  // The shortest time that an act by hand is remembered.
  static constexpr Duration kRemembered = std::chrono::hours(24);

  // When room is needed, the lowest goes first.
  enum class Worth : std::uint8_t { kLift, kOther, kKept, kByHand };
  struct Entry {
    Block block;
    std::uint64_t tag = 0;
    std::size_t slot = 0;
    Worth worth = Worth::kOther;
    BlockIndex::Network blocked{};       // if a network is blocked
    std::optional<IpAddress> network{};  // of the key, unless the block is by hand
    Instant remembered{};                // until when an act by hand is remembered
    BlockNews::Numbers news{};
  };
  using Entries = std::unordered_map<std::uint64_t, Entry>;  // by tags
  using End = std::pair<Instant, std::uint64_t>;             // when the block with this tag ends

  // Both registers of a rule and key. Null: empty.
  struct Known {
    Entry* by_hand;
    Entry* by_rule;

    Entry* same_as(const Block& block) const { return is_by_hand(block) ? by_hand : by_rule; }
    Instant newest() const;
    // The later end; long ago if neither register blocks.
    Instant end() const;
    // Whether the block, or something newer, is known.
    bool has(const Block& block) const;
  };

  // Both must outlive the book.
  BlockBook(BlockIndex& index, BlockNews& news, std::size_t blocks_max);

  Known known_of(const Block& block);
  // Null if it is not in the book.
  Entry* find(const Block& block) { return find(index_.tag_of(block, is_by_hand(block))); }
  Entry* find(std::uint64_t tag);
  Entries& entries() { return entries_; }
  const std::set<End>& ends() const { return ends_; }

  // Replaces what the block is newer than. Returns null if there is no room for the block.
  Entry* put(const Block& block, const Known& known, Instant now);
  void remove(Entry& entry);
  // Removes blocks that have ended, and remembers those by hand as lifts.
  void expire(Instant now);

  std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  // One block, with all memory that it needs in the containers.
  struct Nodes {
    Entries entry;
    std::set<End> end;
    std::set<std::pair<Worth, End>> by_worth;
    std::map<IpAddress, std::set<End>> by_network;
  };

  static Nodes nodes_of(std::uint64_t tag, const Block& block);
  Entry& take(Nodes& own, Worth worth, std::size_t slot) noexcept;
  void outlive(Entry& entry) noexcept;
  void make_room_in(const std::optional<IpAddress>& network);
  bool make_room_for(Worth worth);
  void drop(std::uint64_t tag);
  void count_dropped(const Block& block) noexcept;

  BlockIndex& index_;
  BlockNews& news_;
  const std::size_t blocks_max_;
  Entries entries_;
  std::set<End> ends_;
  std::set<std::pair<Worth, End>> by_worth_;
  std::map<IpAddress, std::set<End>> by_network_;
  std::size_t kept_ = 0;  // entries with Worth::kKept
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace weir
