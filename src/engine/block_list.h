// BlockList: the keys that are denied until a known instant, without being counted.
//
// Looked at before any counter, by every request of a rule that blocks; so a look is one
// probe of a table without locks, and while nobody is blocked one load. Adding, lifting
// and listing take a lock: they happen when somebody is denied, not when somebody asks.
//
// Memory is fixed at the start, so a full list drops blocks, and an attacker who fills it must
// not thereby lift the block of anybody else:
//
//   by hand        a block that somebody made is the last to go
//   kept           half of the list is for the first that come, until they end
//   others         make room for new ones, the nearest to its end first
//   of one network a /16 (IPv4) or /48 (IPv6) has a sixteenth of the list for the blocks of
//                  its addresses: beyond that they replace each other
//
// Thread rule: any thread. Tested by block_list_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

enum class BlockReason : std::uint8_t {
  kDenied,  // the rule blocks who exceeds it
  kManual,  // somebody said so
};
std::string_view reason_name(BlockReason reason);  // "denied", "manual"

struct Block {
  std::string rule;
  std::string key;
  Instant since{};
  Instant until{};
  BlockReason reason = BlockReason::kDenied;
};

class BlockList {
 public:
  static constexpr std::size_t kBlocksMax = 65'536;
  // Bytes of a key that are kept. A longer one is blocked by a digest of it.
  static constexpr std::size_t kKeyMax = 1'024;

  // `hasher` must outlive the list.
  explicit BlockList(const KeyHasher& hasher, std::size_t blocks_max = kBlocksMax);
  BlockList(const BlockList&) = delete;
  BlockList& operator=(const BlockList&) = delete;

  // Nobody is blocked: until() need not be asked. One relaxed load.
  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  // Until when the key of this rule is blocked. Nothing if it is not. No lock, no
  // allocation.
  std::optional<Instant> until(std::string_view rule, std::string_view key,
                               Instant now) const noexcept;

  // Blocks, or changes the end of a block, which a rule never brings nearer: only a hand does.
  // False if the list is full of blocks that are worth more.
  bool add(Block block, Instant now);

  // False if it was not blocked.
  bool lift(std::string_view rule, std::string_view key);

  // Those who are told what is new here: the other nodes, the other processes of this one.
  enum class Audience : std::uint8_t { kFleet, kProcesses };
  static constexpr std::size_t kAudiences = 2;

  // From now on what is added or lifted is kept, to be told to these: a block that was
  // lifted as one that ended in 1970. If there are more than kNewsMax, the oldest go untold.
  // The first to be told are all blocks that are here, or `first`. Nothing happens if it is shared
  // with them already.
  static constexpr std::size_t kNewsMax = 4'096;
  void share(Audience audience);
  void share_from(Audience audience, std::vector<Block> first);
  void stop_sharing(Audience audience);
  // The oldest news, which are no longer kept.
  std::vector<Block> take_news(Audience audience, std::size_t blocks_max);
  bool has_news(Audience audience) const;
  // What one of these has told: as add() or lift(), and news for the others only.
  void learn(Block block, Audience from, Instant now);
  // As lift(), but nobody is told.
  void forget(std::string_view rule, std::string_view key);

  // The blocks of one rule, or of all if it is empty; the first to end comes first.
  std::vector<Block> list(std::string_view rule, std::size_t blocks_max, Instant now);

  // Forgets those that have ended. Cheap when there are none; done by add() as well.
  void expire(Instant now);

  // Grows with each block that is added or lifted; those that end do not count.
  std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }

  std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

  // Blocks that a full list has dropped before their end, or not taken.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  // When a slot is taken, `tag` is written first and `until_us`, which was 0, after it with
  // release. A reader reads tag, until_us with acquire, and tag again: if it has read the
  // end of a new block, it sees the new tag the second time.
  struct Slot {
    std::atomic<std::uint64_t> tag{0};  // 0: free, and the probe ends here
    std::atomic<std::int64_t> until_us{0};
  };
  // The lowest goes first.
  enum class Worth : std::uint8_t { kOther, kKept, kByHand };
  // The network of a key that is an address, or has one in it.
  using Network = std::optional<IpAddress>;
  using End = std::pair<Instant, std::uint64_t>;  // of the block with this tag

  struct Entry {
    Block block;
    std::size_t slot = 0;
    Worth worth = Worth::kOther;
    Network network{};  // of blocks that nobody made by hand
  };
  using Entries = std::unordered_map<std::uint64_t, Entry>;  // by tag
  struct Lists {
    Entries entries;
    std::set<End> ends;
    std::set<std::pair<Worth, End>> by_worth;
    std::map<IpAddress, std::set<End>> by_network;
  };

  bool insert(Block& block, Instant now);  // these two with the lock held
  bool erase(std::string_view rule, std::string_view key);
  void tell(const Block& block, std::optional<Audience> except);
  void expire_locked(Instant now);
  void make_room_in(const Network& network);
  bool make_room_for(Worth worth);
  void drop(std::uint64_t tag);
  std::uint64_t tag_of(std::string_view rule, std::string_view key) const noexcept;
  std::size_t home_of(std::uint64_t tag) const noexcept;
  std::optional<std::size_t> free_slot(std::uint64_t tag) const;
  static Lists lists_of(std::uint64_t tag, const Block& block);
  void take(Lists& own, Worth worth, std::size_t slot) noexcept;
  void remove(Entries::iterator entry);

  const KeyHasher& hasher_;
  const std::size_t blocks_max_;
  std::vector<Slot> slots_;  // a power of two
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> dropped_{0};

  // News that an audience has not heard yet.
  struct News {
    bool is_kept = false;
    std::deque<Block> blocks;

    void add(Block block);
  };
  News& news_for(Audience audience) { return news_[static_cast<std::size_t>(audience)]; }

  mutable std::mutex mutex_;  // guards what follows, and writing to slots_
  Lists lists_;
  std::size_t kept_ = 0;  // entries of that worth
  std::array<News, kAudiences> news_;
};

}  // namespace weir
