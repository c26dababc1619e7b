// BlockIndex: until when a key or a client is blocked: a table that every request reads, without
// locks, and that the list writes under its lock.
//
// A tag is the hash of a rule and a key, by a hand or by the rule, or of a rule and a network.
// The slots of a tag are a run from its home on, which ends at a free slot.
//
// Thread rule: empty(), size() and until() from any thread; the rest under the lock of the list.
// Tested by block_list_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "engine/block.h"
#include "engine/blocked_networks.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

class BlockIndex {
 public:
  using Network = std::optional<BlockedNetwork>;

  // `hasher` must outlive the index.
  BlockIndex(const KeyHasher& hasher, std::size_t blocks_max);

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  const KeyHasher& hasher() const { return hasher_; }
  // BlockList::until()
  std::optional<Instant> until(const HashedName& name, std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept;

  // What this block, or another of its rule and key, has for a tag if it is by a hand, or not.
  std::uint64_t tag_of(const Block& block, bool by_hand) const noexcept;
  bool has_room_for(const BlockedNetwork& network) const noexcept {
    return networks_.has_room_for(network);
  }
  // Nothing if the run of the tag is too long. It may be free once another has made room.
  std::optional<std::size_t> free_slot(std::uint64_t tag) const;
  // The block, or lift, takes the slot. `network`: what is blocked is one.
  void put(std::size_t slot, std::uint64_t tag, const Block& block,
           const Network& network) noexcept;
  // The block has ended, and keeps its slot.
  void end(std::size_t slot, const Block& block, const Network& network) noexcept;
  void remove(std::size_t slot, const Block& block, const Network& network) noexcept;

 private:
  // The longest run of slots that is looked through.
  static constexpr std::size_t kProbesMax = 64;

  // When a slot is taken, `tag` is written first and `until_us`, which was 0, after it with
  // release. A reader reads tag, until_us with acquire, and tag again: if it has read the
  // end of a new block, it sees the new tag the second time.
  struct Slot {
    std::atomic<std::uint64_t> tag{0};  // 0: free, and the probe ends here
    std::atomic<std::int64_t> until_us{0};
  };

  std::uint64_t tag_of(HashedName name, KeyHash bucket) const noexcept;
  std::uint64_t tag_of(std::string_view rule, const BlockedNetwork& network) const noexcept;
  std::optional<Instant> end_at(std::uint64_t tag, Instant now) const noexcept;
  std::optional<Instant> end_around(std::string_view rule, const BlockedNetwork& inner,
                                    Instant now) const noexcept;
  std::size_t home_of(std::uint64_t tag) const noexcept { return tag & (slots_.size() - 1); }
  enum class Count : std::uint8_t { kIn, kOut };
  void count(const Block& block, const Network& network, Count way) noexcept;

  const KeyHasher& hasher_;
  const KeyHash by_rule_;
  const KeyHash by_hand_;
  std::vector<Slot> slots_;  // a power of two
  std::atomic<std::size_t> count_{0};
  // By hand, and of no network.
  std::atomic<std::size_t> keys_of_rules_{0};
  std::atomic<std::size_t> keys_for_all_{0};
  BlockedNetworks networks_;
};

}  // namespace weir
