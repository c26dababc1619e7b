// BlockList: the keys and networks that are denied until a known instant, without being counted.
//
// Looked at before any counter, by every request; so a look is one probe of a table without
// locks, and while nobody is blocked one load. Adding, lifting and listing take a lock: they
// happen when somebody is denied, not when somebody asks.
//
// A hand may block for all rules: the block's rule is empty. What a hand blocks and is an address
// or a network ("203.0.113.0/24", "2001:db8::/32") holds for clients whose address is in it,
// whatever the rule's key is, and for keys that are such an address or network. A look then
// probes once for each length of networks that is blocked (blocked_networks.h).
//
// Memory is fixed at the start, so a full list drops blocks, and an attacker who fills it must
// not thereby lift the block of anybody else:
//
//   by hand        a block that somebody made is the last to go
//   kept           half of the list is for the first that come, until they end
//   others         make room for new ones, the nearest to its end first
//   of one network a /16 (IPv4) or /48 (IPv6) has a sixteenth of the list for the blocks of
//                  its addresses: beyond that they replace each other
//   lifts          are remembered in places that no block needs
//
// Several lists that tell each other all agree, in whatever order they hear it. For a rule and key
// there are two registers: the newest act by a hand, which is a block or a lift, and the newest
// block by the rule, if it is newer than that. The later end of the two holds. An act is never
// older than what its list knows, however far the clocks are apart. A list remembers an act by
// hand until all that it has ended would be over, and for kRemembered at least: until then, an
// older block that comes back does not hold.
//
// Thread rule: any thread. Tested by block_list_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "engine/blocked_networks.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

enum class BlockReason : std::uint8_t {
  kDenied,  // the rule blocks who exceeds it
  kManual,  // somebody said so
  kLifted,  // it is none any more: somebody said so
};
std::string_view reason_name(BlockReason reason);  // "denied", "manual", "lifted"

struct Block {
  std::string rule;  // empty: all rules, and limits without one
  std::string key;
  Instant since{};
  Instant until{};  // when a lift is forgotten
  BlockReason reason = BlockReason::kDenied;
  // Whose a hand is, and what its block is for, if it said so.
  std::string by{};
  std::string why{};
};

inline bool is_by_hand(const Block& block) { return block.reason != BlockReason::kDenied; }
inline bool is_lift(const Block& block) { return block.reason == BlockReason::kLifted; }
// What a hand blocks or lifts is a network, if it reads as one.
std::optional<BlockedNetwork> blocked_network(const Block& block);

class BlockList {
 public:
  static constexpr std::size_t kBlocksMax = 65'536;
  // Bytes of a key that are kept. A longer one is blocked by a digest of it.
  static constexpr std::size_t kKeyMax = 1'024;
  // Likewise of the other texts.
  static constexpr std::size_t kByMax = 64;
  static constexpr std::size_t kWhyMax = 256;
  // How long an act by hand is remembered at least.
  static constexpr Duration kRemembered = std::chrono::hours(24);

  // `hasher` must outlive the list.
  explicit BlockList(const KeyHasher& hasher, std::size_t blocks_max = kBlocksMax);
  BlockList(const BlockList&) = delete;
  BlockList& operator=(const BlockList&) = delete;

  // Nobody is blocked: until() need not be asked. One relaxed load.
  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

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
  // REQUIRES: the key has at most kKeyMax bytes
  std::optional<Instant> until(const HashedName& name, std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept;
  const KeyHasher& hasher() const { return hasher_; }

  // Blocks, or changes the end of a block, which a rule never brings nearer: only a hand does.
  // False if the list is full of blocks that are worth more, or networks of as many lengths as
  // BlockedNetworks takes are blocked already.
  bool add(Block block, Instant now);

  // False if it was not blocked.
  bool lift(std::string_view rule, std::string_view key, Instant now);
  // Whatever blocks it is of, of single rules or of all. Returns how many there were. Slow.
  std::size_t lift_all(std::string_view key, Instant now);

  // Those who are told what is new here: the other nodes, the other processes of this one.
  enum class Audience : std::uint8_t { kFleet, kProcesses };
  static constexpr std::array kAudienceNames = {Audience::kFleet, Audience::kProcesses};
  static constexpr std::size_t kAudiences = kAudienceNames.size();

  // From now on what is added or lifted is kept, to be told to these. The first to be told are all
  // blocks and lifts that are here, or `first`. Nothing happens if it is shared with them already.
  void share(Audience audience);
  void share_from(Audience audience, std::span<const Block> first);
  void stop_sharing(Audience audience);
  // The newest news, as they are now, which are no longer kept.
  std::vector<Block> take_news(Audience audience, std::size_t blocks_max);
  bool has_news(Audience audience) const;
  // They have not heard of these; of anything.
  void tell_again(Audience audience, std::span<const Block> blocks);
  void tell_again(Audience audience);
  // What one of these has told, or a file: news for the others, if it is newer than what is known.
  void learn(Block block, std::optional<Audience> from, Instant now);
  // Nobody is told, and nothing remembered.
  void forget(std::string_view rule, std::string_view key);

  // The blocks of one rule, or of all if it is empty; the first to end comes first.
  std::vector<Block> list(std::string_view rule, std::size_t blocks_max, Instant now);
  // Those that are remembered, the last to be forgotten first.
  std::vector<Block> lifts(Instant now);

  // Forgets those that have ended. Cheap when there are none; done by add() as well.
  void expire(Instant now);

  // Grows with each block that is added or lifted; those that end do not count.
  std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }

  std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

  // Blocks that a full list has dropped before their end, or not taken.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  // The longest run of slots that is looked through. A block that finds no place within it is not
  // added before another has made room.
  static constexpr std::size_t kProbesMax = 64;

  // When a slot is taken, `tag` is written first and `until_us`, which was 0, after it with
  // release. A reader reads tag, until_us with acquire, and tag again: if it has read the
  // end of a new block, it sees the new tag the second time.
  struct Slot {
    std::atomic<std::uint64_t> tag{0};  // 0: free, and the probe ends here
    std::atomic<std::int64_t> until_us{0};
  };
  // The lowest goes first.
  enum class Worth : std::uint8_t { kLift, kOther, kKept, kByHand };
  // The network of a key that is an address, or has one in it.
  using Network = std::optional<IpAddress>;
  using End = std::pair<Instant, std::uint64_t>;  // of the block with this tag

  struct Entry {
    Block block;
    std::size_t slot = 0;
    Worth worth = Worth::kOther;
    std::optional<BlockedNetwork> blocked{};       // if the block is of a network
    Network network{};                             // of blocks that nobody made by hand
    Instant remembered{};                          // until then, if it is by hand
    std::array<std::uint64_t, kAudiences> news{};  // their numbers; 0: told
  };
  using Entries = std::unordered_map<std::uint64_t, Entry>;  // by tag
  struct Lists {
    Entries entries;
    std::set<End> ends;
    std::set<std::pair<Worth, End>> by_worth;
    std::map<IpAddress, std::set<End>> by_network;
  };

  // All that is known of a rule and key.
  struct Known {
    Entries::iterator by_hand;
    Entries::iterator by_rule;
  };
  Known known_of(const Block& block);  // this and what follows with the lock held
  Instant newest_in(const Known& known) const;
  Instant end_in(const Known& known) const;
  bool is_known(const Block& block, const Known& known) const;
  bool put(const Block& block, const Known& known, Instant now);
  bool lift_locked(std::string_view rule, std::string_view key, Instant now);
  void tell(const Block& block, std::optional<Audience> except);
  void mark(Entries::value_type& entry, Audience audience);
  void unmark(Entry& entry, Audience audience);
  void outlive(Entries::iterator entry) noexcept;
  void expire_locked(Instant now);
  void make_room_in(const Network& network);
  bool make_room_for(Worth worth);
  void drop(std::uint64_t tag);
  std::uint64_t tag_of(std::string_view rule, std::string_view key, KeyHash bucket) const noexcept;
  std::uint64_t tag_of(HashedName name, KeyHash bucket) const noexcept;
  std::uint64_t tag_of(std::string_view rule, const BlockedNetwork& network) const noexcept;
  std::uint64_t tag_of(const Block& block) const noexcept;
  std::optional<Instant> end_at(std::uint64_t tag, Instant now) const noexcept;
  std::optional<Instant> end_around(std::string_view rule, const BlockedNetwork& inner,
                                    Instant now) const noexcept;
  void count_in(const Entry& entry) noexcept;
  void count_out(const Entry& entry) noexcept;
  std::atomic<std::size_t>& keys_by_hand(const Block& block) noexcept;
  std::size_t home_of(std::uint64_t tag) const noexcept;
  std::optional<std::size_t> free_slot(std::uint64_t tag) const;
  static Lists lists_of(std::uint64_t tag, const Block& block);
  void take(Lists& own, Worth worth, std::size_t slot) noexcept;
  void remove(Entries::iterator entry);

  const KeyHasher& hasher_;
  const KeyHash by_rule_;
  const KeyHash by_hand_;
  const std::size_t blocks_max_;
  std::vector<Slot> slots_;  // a power of two
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> dropped_{0};
  // By hand, and of no network.
  std::atomic<std::size_t> keys_of_rules_{0};
  std::atomic<std::size_t> keys_for_all_{0};
  BlockedNetworks networks_;

  // What an audience has not heard yet.
  struct News {
    bool is_kept = false;
    std::map<std::uint64_t, std::uint64_t> tags;  // by their numbers
  };
  News& news_for(Audience audience) { return news_[static_cast<std::size_t>(audience)]; }

  mutable std::mutex mutex_;  // guards what follows, and writing to slots_
  Lists lists_;
  std::size_t kept_ = 0;  // entries of that worth
  std::array<News, kAudiences> news_;
  std::uint64_t last_news_ = 0;
};

}  // namespace weir
