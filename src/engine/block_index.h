// BlockIndex: when a key's or client's block ends. A table that every request reads without locks,
// and that the list writes under its lock.
//
// A tag is the hash of a rule and a key, and of whether a hand or the rule blocks; or of a rule and
// a network. The slots of a tag are a run from its home slot, up to the first free slot.
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
  using Network = std::optional<IpPrefix>;

  // `hasher` must outlive the index.
  BlockIndex(const KeyHasher& hasher, std::size_t blocks_max);

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  const KeyHasher& hasher() const { return hasher_; }
  // As BlockList::until().
  std::optional<Instant> until(const HashedName& name, std::string_view rule, std::string_view key,
                               const std::optional<IpAddress>& client, Instant now) const noexcept;

  // The tag of the register of this rule and key: the one of acts by hand, or the rule's.
  std::uint64_t tag_of(const Block& block, bool by_hand) const noexcept;
  bool has_room_for(const IpPrefix& network) const noexcept {
    return networks_.has_room_for(network);
  }
  // Nothing if the run of the tag is too long. A slot may become free when another block goes.
  std::optional<std::size_t> free_slot(std::uint64_t tag) const;
  // Puts the block, or lift, into the slot. `network`: set if a network is blocked.
  void put(std::size_t slot, std::uint64_t tag, const Block& block,
           const Network& network) noexcept;
  // Ends the block, which keeps its slot.
  void end(std::size_t slot, const Block& block, const Network& network) noexcept;
  void remove(std::size_t slot, const Block& block, const Network& network) noexcept;

 private:
  // The longest run of slots that a look reads.
  static constexpr std::size_t kProbesMax = 64;

  // To take a slot, the writer first stores `tag`, and then `until_us`, which was 0, with release.
  // A reader reads tag, until_us with acquire, and tag again. If it has read the end of a new
  // block, its second read sees the new tag.
  struct Slot {
    std::atomic<std::uint64_t> tag{0};  // 0: free, and the probe ends here
    std::atomic<std::int64_t> until_us{0};
  };

  std::uint64_t tag_of(HashedName name, KeyHash bucket) const noexcept;
  std::uint64_t tag_of(std::string_view rule, const IpPrefix& network) const noexcept;
  std::optional<Instant> end_at(std::uint64_t tag, Instant now) const noexcept;
  std::optional<Instant> end_around(std::string_view rule, const IpPrefix& inner,
                                    Instant now) const noexcept;
  std::size_t home_of(std::uint64_t tag) const noexcept { return tag & (slots_.size() - 1); }
  enum class Count : std::uint8_t { kIn, kOut };
  void count(const Block& block, const Network& network, Count way) noexcept;

  const KeyHasher& hasher_;
  const KeyHash by_rule_;
  const KeyHash by_hand_;
  std::vector<Slot> slots_;  // a power of two
  std::atomic<std::size_t> count_{0};
  // Keys blocked by hand, without networks.
  std::atomic<std::size_t> keys_of_rules_{0};
  std::atomic<std::size_t> keys_for_all_{0};
  BlockedNetworks networks_;
};

}  // namespace weir
