// RecentAsks: recent requests of a node, as asks of its rules. A dry run decides them again, with
// other limits (rulebook/dry_run.h).
//
// Each core keeps its last asks in a ring. It keeps all asks of a key, or none. The key's hash
// decides, under the node's secret. So a ring keeps one of 2^shift keys:
//
//   oldest                                                        newest
//   | shift 0 ............ | shift 3 ........... | shift 2 ......... |
//                          └ from here on, one of 8 keys is whole ───┘
//
// The shift rises if the ring would hold less than kSpan, and falls if it would hold more than four
// times that. Each ask says under which shift it was kept.
//
// Cost: a handful of instructions for a key that is left out, about 70 for an ask that is kept
// (bench/counted). A full ring takes as many asks in kSpan as fit: for one core, 3,500 a second in
// 64 MiB, and 56,000 in the largest. So a busy core spends less than a percent of its time on it.
//
// Thread rule: CoreRecentAsks::add() on the owning core; the rest from any thread. A reader misses
// an ask that is overwritten meanwhile. Tested by recent_asks_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/huge_array.h"
#include "base/text_hash.h"
#include "observe/keys/key_report.h"
#include "weir/key.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// 32 bytes, without texts.
struct RecentAsk {
  std::uint64_t key = 0;    // the key's hash
  std::uint16_t tier = 0;   // as tier_named()
  std::uint16_t place = 0;  // Rule::place_of() of the key
  std::uint16_t rule = 0;
  std::uint8_t shift = 0;                       // the ring's, then
  Operation operation = Operation::kSpendEach;  // or kCharge, kDrain
  std::int64_t cost = 0;
  Instant at{};

  // A number that only this process knows. 0: no tier.
  static std::uint16_t tier_named(std::string_view name) {
    return name.empty() ? 0 : static_cast<std::uint16_t>(TextHash()(name) | 1);
  }
};

class CoreRecentAsks {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{1} << 30;

  // REQUIRES: `bytes` has room for an ask
  CoreRecentAsks(std::size_t bytes, Instant now);

  bool wants(std::uint64_t key) const noexcept { return (key & mask_) == 0; }
  // REQUIRES: wants(ask.key)
  void add(const RecentAsk& ask) noexcept {
    const std::uint64_t number = written_.load(kRelaxed);
    std::atomic_thread_fence(std::memory_order_release);  // pairs with the one in each()
    Entry& entry = ring_[next_];
    entry[0].store(ask.key, kRelaxed);
    // Builds the second word as it lies in memory.
    const std::uint64_t shift = shift_.load(kRelaxed);
    const auto operation = static_cast<std::uint64_t>(ask.operation);
    const std::uint64_t place_of_key = ask.place;
    entry[1].store(ask.tier | place_of_key << 16 | std::uint64_t{ask.rule} << 32 | shift << 48 |
                       operation << 56,
                   kRelaxed);
    entry[2].store(static_cast<std::uint64_t>(ask.cost), kRelaxed);
    entry[3].store(static_cast<std::uint64_t>(ask.at.time_since_epoch().count()), kRelaxed);
    written_.store(number + 1, std::memory_order_release);
    if (++next_ == ring_.size()) next_ = 0;
    if (number + 1 >= part_ends_ || ask.at > slow_from_) set_shift(ask.at);
  }

 private:
  friend class RecentAsks;
  using Words = std::array<std::uint64_t, sizeof(RecentAsk) / sizeof(std::uint64_t)>;
  using Entry = std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>>;
  static_assert(std::has_unique_object_representations_v<RecentAsk>);
  static_assert(std::endian::native == std::endian::little);

  void set_shift(Instant now) noexcept;
  std::uint64_t oldest(std::uint64_t written) const noexcept {
    return written > ring_.size() ? written - ring_.size() : 0;
  }
  // Calls visit(ask, whether asks before it are lost) for each ask, the oldest first.
  template <typename Visit>
  void each(Visit visit) const {
    std::uint64_t end = written_.load(std::memory_order_acquire);
    bool are_lost = oldest(end) > 0;
    for (std::uint64_t i = oldest(end); i < end;) {
      const Entry& entry = ring_[i % ring_.size()];
      Words words;
      for (std::size_t w = 0; w < words.size(); ++w) words[w] = entry[w].load(kRelaxed);
      // Pairs with the fence in add(): a reader that saw a word of a later ask sees its number.
      std::atomic_thread_fence(std::memory_order_acquire);
      const std::uint64_t first = oldest(written_.load(kRelaxed) + 1);
      if (i < first) {
        i = first;
        end = std::max(end, first + 1);  // the visitor must hear that asks are lost
        are_lost = true;
        continue;
      }
      visit(std::bit_cast<RecentAsk>(words), std::exchange(are_lost, false));
      ++i;
    }
  }

  static constexpr auto kRelaxed = std::memory_order_relaxed;

  // A cache line that no other core writes.
  alignas(64) std::uint64_t mask_ = 0;  // keys with one of these bits are left out: `shift` bits
  std::size_t next_ = 0;                // entry
  std::uint64_t part_ends_;             // looks at the pace after so many asks, or
  Instant slow_from_;                   // at this time
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint8_t> shift_{0};
  HugeArray<Entry> ring_;
};

class RecentAsks {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{1} << 20;
  static constexpr Duration kSpan = std::chrono::minutes(10);

  // `hasher`: names the keys as long as this lives; null: it may be replaced. Throws
  // std::bad_alloc.
  RecentAsks(std::size_t bytes, std::size_t cores, Instant now, const KeyHasher* hasher = nullptr);

  CoreRecentAsks& core(std::size_t index) { return cores_[index]; }
  const KeyHasher* hasher() const { return hasher_; }

  struct Found {
    std::vector<RecentAsk> asks;  // sorted by time
    Instant since;                // complete after this time
    unsigned shift = 0;           // asks of one of 2^shift keys
    bool are_all = false;         // all since the node began
  };
  // The rule's asks until `now`, of all keys that were kept all the time since `from`. Of fewer
  // keys if that were more than `most` asks.
  Found of(RuleNumber rule, Instant from, std::size_t most, Instant now) const;

 private:
  const Instant began_;
  const KeyHasher* const hasher_;
  std::deque<CoreRecentAsks> cores_;
};

}  // namespace weir
