// RecentAsks: what rules were asked of late, for who wants to know what other limits would have
// decided (rulebook/dry_run.h).
//
// Each core keeps its last asks in a ring. A key is whole: all its asks are kept, or none. Its hash
// decides, under the node's secret. So a ring keeps one of 2^shift keys:
//
//   oldest                                                        newest
//   | shift 0 ............ | shift 3 ........... | shift 2 ......... |
//                          └ from here on, one of 8 keys is whole ───┘
//
// The shift rises when the ring would hold less than kSpan, and falls when it would hold more than
// four times that. Each ask says under which shift it was kept.
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
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// 32 bytes without a text.
struct RecentAsk {
  std::uint64_t key = 0;   // its hash
  std::uint32_t tier = 0;  // as tier_named()
  std::uint16_t rule = 0;
  std::uint8_t shift = 0;                       // the ring's
  Operation operation = Operation::kSpendEach;  // or kCharge, kDrain
  std::int64_t cost = 0;
  Instant at{};

  // Of this process alone. 0: none.
  static std::uint32_t tier_named(std::string_view name) {
    return name.empty() ? 0 : static_cast<std::uint32_t>(TextHash()(name)) | 1;
  }
};

class CoreRecentAsks {
 public:
  CoreRecentAsks(std::size_t places, Instant now) : places_(places), measured_since_(now) {}

  bool wants(std::uint64_t key) const noexcept { return (key & mask_) == 0; }
  // REQUIRES: wants(ask.key)
  void add(RecentAsk ask) noexcept;

 private:
  friend class RecentAsks;
  using Words = std::array<std::uint64_t, sizeof(RecentAsk) / sizeof(std::uint64_t)>;
  using Place = std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>>;
  static_assert(std::has_unique_object_representations_v<RecentAsk>);

  void set_shift(Instant now) noexcept;
  std::uint64_t oldest(std::uint64_t written) const noexcept {
    return written > places_.size() ? written - places_.size() : 0;
  }
  // visit(ask, whether those before it are lost) for each, the oldest first.
  template <typename Visit>
  void each(Visit visit) const {
    std::uint64_t end = written_.load(std::memory_order_acquire);
    bool are_lost = oldest(end) > 0;
    for (std::uint64_t i = oldest(end); i < end;) {
      const Place& place = places_[i % places_.size()];
      Words words;
      for (std::size_t w = 0; w < words.size(); ++w) words[w] = place[w].load(kRelaxed);
      // Pairs with the fence in add(): who has read a word of a later ask sees its number.
      std::atomic_thread_fence(std::memory_order_acquire);
      const std::uint64_t first = oldest(written_.load(kRelaxed) + 1);
      if (i < first) {
        i = first;
        end = std::max(end, first + 1);  // somebody has to hear that asks are lost
        are_lost = true;
        continue;
      }
      visit(std::bit_cast<RecentAsk>(words), std::exchange(are_lost, false));
      ++i;
    }
  }

  static constexpr auto kRelaxed = std::memory_order_relaxed;

  HugeArray<Place> places_;
  std::uint64_t mask_ = 0;              // what bits of a key must not be set
  std::atomic<std::uint8_t> shift_{0};  // so many
  std::atomic<std::uint64_t> written_{0};
  std::size_t next_ = 0;      // place
  std::size_t measured_ = 0;  // asks since
  Instant measured_since_;
};

class RecentAsks {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{1} << 20;
  static constexpr Duration kSpan = std::chrono::minutes(10);

  // Throws std::bad_alloc.
  RecentAsks(std::size_t bytes, std::size_t cores, Instant now);

  CoreRecentAsks& core(std::size_t index) { return cores_[index]; }

  struct Found {
    std::vector<RecentAsk> asks;  // in the order of their times
    Instant since;                // after it they are whole
    unsigned shift = 0;           // of one of 2^shift keys
    bool are_all = false;         // that there were since the node began
  };
  // Those of the rule until `now`: of all keys that were kept all along since `from`, or of fewer
  // keys, if they were more asks than `most`.
  Found of(RuleNumber rule, Instant from, std::size_t most, Instant now) const;

 private:
  const Instant began_;
  std::deque<CoreRecentAsks> cores_;
};

}  // namespace weir
