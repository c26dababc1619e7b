// FineCounts: how the units of keys near their limits lie within their windows.
//
// A slot of the compact table has two counts, exactly. The units of the current window all lie in
// the last W of time. Nobody knows how many of the previous window's still do, so they are taken as
// evenly spread. A place here knows: 256 counts for the current window, which overwrite those of
// the previous window as time passes over them.
//
//      previous window, counts after `at`          current window, counts up to `at`
//   ├──────────────── at ── rest ──────────┤├────────────────────────┤ at
//                      └ leaving: fades in part              now ────┘
//
//   weight    rest + leaving * (end of the count - now) / its length, in place of
//             previous * (W - e) / W
//
// The slot stays the truth about how much was spent. It may have more than its place has seen: a
// charge that always counts, a race, a hit while nobody asked. That is entered as of now, and so
// counts too long rather than too short. What it has less is taken from the newest counts.
//
// Units from before a key had a place are spread evenly in it, as two counters take them to lie.
// So are all of them after a clock has stepped back, or the limit has changed. From a window later
// on, an exact log of a window that is 1/256 longer or shorter, at most, decides alike. A key that
// has no place is decided by two counters, and so is one whose place was lost. Keys over their
// limits are protected by their slots (room.h), whatever happens here.
//
// A key asks for a place while its two counts come to over a quarter of its limit. Places are in
// sets of four. A newcomer takes the place of a key whose windows have passed. Else it takes the
// place of the key with the smallest part of its limit, if its own part is larger.
//
// Counts have 16 bits. Limits over 32,767 are counted in units of a power of two, whose rounding is
// carried on: at most 1/16,384 of the limit.
//
// Thread rule: any thread, concurrently; a set has a lock, and nobody holds two.
// Tested by fine_counts_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "algo/sliding_window.h"
#include "algo/wide_math.h"
#include "base/atomic128.h"
#include "store/memory/packing.h"
#include "store/memory/shard_lock.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

class FinePlace {
 public:
  bool is_of(const KeyHash& key) const { return key_ == key; }
  bool is_void(Instant now) const { return void_us_ <= epoch_us(now); }
  // Of its limit, in 1/128.
  std::int64_t share() const { return share_of(limit_, units(counted_ + rest_ + leaving_)); }
  static std::int64_t share_of(std::int64_t limit, std::int64_t held) {
    return 128 * std::min(limit, held) / std::max<std::int64_t>(1, limit);
  }

  // Makes it a place of this key: its units are spread evenly.
  // REQUIRES: here and below, `state` is rolled to `now`
  void take(const KeyHash& key, const Quota& quota, const algo::SlidingWindowState& state,
            Instant now);
  // Brings it to `now`, and to what the slot has.
  void touch(const Quota& quota, const algo::SlidingWindowState& state, Instant now);
  // The current count is about to be this.
  void note(std::int64_t current) { add((current >> shift_) - counted_); }

  // Answers as algo::EvenPast does, by the counts of this place. REQUIRES: touched
  std::int64_t weight(const Quota& quota, const algo::SlidingWindowState& state, Instant now) const;
  std::int64_t faded_at_us(const Quota& quota, const algo::SlidingWindowState& state,
                           algo::EvenPast::Count count, std::int64_t units) const;

 private:
  static constexpr std::int64_t kCounts = 256;

  static std::int64_t begin_us(std::int64_t window_us, std::int64_t at) {
    return (at * window_us + kCounts - 1) / kCounts;
  }
  std::int64_t units(std::int64_t count) const { return count << shift_; }
  void spread(const algo::SlidingWindowState& state);
  void roll(const algo::SlidingWindowState& state);
  void add(std::int64_t count);

  KeyHash key_;
  std::int64_t start_us_ = 0;  // of the current window
  std::int64_t limit_ = 0;     // that the counts are made for
  std::int64_t void_us_ = 0;
  std::int64_t rest_ = 0;     // of the previous window, after `at_`
  std::int64_t leaving_ = 0;  // of the previous window, at `at_`
  std::int64_t counted_ = 0;  // of the current window
  std::uint16_t at_ = 0;
  std::uint16_t shift_ = 0;
  std::array<std::uint16_t, kCounts> counts_{};
};

class FineCounts {
 public:
  // How units lie, by a place: a past of algo/sliding_window.h.
  struct Past {
    FinePlace* place;

    std::int64_t weight(const Quota& quota, const algo::SlidingWindowState& state,
                        Instant now) const noexcept {
      return place->weight(quota, state, now);
    }
    std::int64_t faded_at_us(const Quota& quota, const algo::SlidingWindowState& state,
                             algo::EvenPast::Count count, std::int64_t units) const noexcept {
      return place->faded_at_us(quota, state, count, units);
    }
    std::int64_t next_faded_us(const Quota& quota, const algo::SlidingWindowState& state,
                               std::int64_t weight, std::int64_t held) const noexcept {
      using Count = algo::EvenPast::Count;
      return weight > 0 ? faded_at_us(quota, state, Count::kPrevious, weight - 1)
                        : faded_at_us(quota, {state.start_us, 0, held}, Count::kCurrent, held - 1);
    }
  };

  // REQUIRES: places > 0
  explicit FineCounts(std::size_t places) : sets_((places + kSetPlaces - 1) / kSetPlaces) {}

  static bool is_near(const Quota& quota, const algo::SlidingWindowState& state,
                      std::int64_t cost) noexcept {
    return state.previous + state.current + cost > quota.limit() / 4;
  }

  // algo::decide() by what is known of the key.
  algo::Step<algo::SlidingWindowState> decide(const Charge& charge,
                                              const algo::SlidingWindowState& state,
                                              Instant now) noexcept;
  // The answer that a store's spend() would give; `remaining` is before the cost.
  Decision look(const Charge& charge, const algo::SlidingWindowState& state, Instant now) noexcept;
  // Packing::spend(), by what is known of the key. REQUIRES: is_near()
  Packing::Next spend(const Packing& packing, const Charge& charge, SlotWord word,
                      const algo::SlidingWindowState& state, Instant now,
                      Decision& decision) noexcept;

  std::size_t bytes() const noexcept { return sets_.size() * sizeof(Set); }

 private:
  static constexpr std::size_t kSetPlaces = 4;

  struct Set {
    ShardMutex mutex;  // guards the places
    std::array<FinePlace, kSetPlaces> places;

    FinePlace* find(const KeyHash& key, const Quota& quota, const algo::SlidingWindowState& state,
                    Instant now) noexcept;
  };

  // Calls `decide` with what is known of the key: a Past, or algo::EvenPast. It returns the current
  // count that the slot is to have, or a negative number if it stays.
  // REQUIRES: `state` is rolled to `now`
  template <typename Decide>
  void with_past(const Charge& charge, const algo::SlidingWindowState& state, Instant now,
                 Decide decide) noexcept;

  Set& set_of(const KeyHash& key) noexcept {
    return sets_[static_cast<std::size_t>((static_cast<Uint128>(key.high) * sets_.size()) >> 64)];
  }

  std::vector<Set> sets_;
};

// Whether there may be places for keys of this state. A program of one thread has none.
template <typename State>
inline constexpr bool kMayBeFine = !kOneThread && std::is_same_v<State, algo::SlidingWindowState>;

// Packing::spend() and algo::decide(), by what `fine` knows of keys near their limits. It may be
// null. State is what the quota's algorithm has; Plain is as in a word.
// A `word` may be of two halves that never were together; places see only whole ones.
template <bool kFine, typename Plain>
inline Packing::Next next_word(FineCounts* fine, const Packing& packing, const Atomic128& slot,
                               const Charge& charge, SlotWord word, const Plain& state, Instant now,
                               Decision& decision) noexcept {
  if constexpr (kFine) {
    if (FineCounts::is_near(*charge.quota, state, charge.cost)) [[unlikely]] {
      if (slot.load() != word.bits()) return std::nullopt;
      return fine->spend(packing, Charge(charge), word, Plain(state), now, decision);
    }
  }
  return packing.spend(*charge.quota, word, state, charge.cost, now, decision);
}
template <typename State>
inline algo::Step<State> decide_near(FineCounts* fine, const Charge& charge, const State& state,
                                     Instant now) noexcept {
  if constexpr (kMayBeFine<State>) {
    if (fine != nullptr) [[unlikely]]
      return fine->decide(charge, state, now);
  }
  return algo::decide(*charge.quota, state, charge.cost, now);
}

}  // namespace weir
