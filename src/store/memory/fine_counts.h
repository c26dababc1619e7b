// FineCounts: finer counts of sliding windows, for keys near their limits.
//
// A slot of the compact table counts the units of the current and of the previous window. All units
// of the current window lie in the last W of time. The slot can't tell how many of the previous
// window's units do, so it takes them as evenly spread. A place here can: its 256 counts of the
// current window overwrite those of the previous window as time passes.
//
//      previous window, counts after `at`          current window, counts up to `at`
//   ├──────────────── at ── rest ──────────┤├────────────────────────┤ at
//                      └ leaving: fades in part              now ────┘
//
//   weight    rest + leaving * (end of the count - now) / its length, in place of
//             previous * (W - e) / W
//
// The slot stays the truth about how much was spent. It may have more units than its place has
// seen: a charge over the limit, a race, a hit far from the limit. The place enters them as of now,
// so they count too long rather than too short. Units that the slot lacks leave the newest counts.
//
// A place spreads units from before it was taken evenly, as the slot's two counters do. It spreads
// all units so after a clock has stepped back, or the limit has changed. One window later it
// decides as an exact log of a window that is at most 1/256 longer or shorter. The slot's two
// counters decide keys without a place, and keys whose place was lost. Slots protect keys over
// their limits (room.h), whatever happens here.
//
// A key asks for a place while its two counts come to over a quarter of its limit. Places are in
// sets of four. A newcomer takes the place of a key whose windows have passed. Else it takes the
// place of the key that has used the smallest part of its limit, if its own part is larger.
//
// Counts have 16 bits. A place counts limits over 32,767 in multiples of a power of two, and
// carries the rounding on: at most 1/16,384 of the limit.
//
// Most hits take no lock. The first hit in a count locks the set, brings the place up to date, and
// says on the place's face how units fade while that count lasts. Other hits read the face,
// exchange the slot, and leave the slot's units on the face. The first hit in a later count enters
// those units into the old count, and the slot's other units into its own. A version tells whether
// the face has changed meanwhile, or whether units left there are of another count or key.
//
// Thread rule: any thread, concurrently; each set has a lock, and no thread holds two.
// Tested by fine_counts_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "algo/sliding_window.h"
#include "algo/wide_math.h"
#include "base/atomic128.h"
#include "base/huge_array.h"
#include "store/memory/packing.h"
#include "store/memory/shard_lock.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

inline constexpr std::int64_t kFineCounts = 256;  // in a window

// How a key's next units fade, while one count lasts: a past (algo/sliding_window.h) for
// Packing::spend().
struct FineFading {
  std::int64_t until_us = 0;   // when the count ends
  std::int64_t later = 0;      // units of the previous window that fade after `fading`
  std::int64_t fading = 0;     // units that fade next; 0: the current window's
  std::int64_t faded_us = 0;   // when `fading` has faded
  std::int64_t length_us = 0;  // how long that takes

  bool covers(const Quota& quota, Instant now) const {
    const auto left_us = static_cast<std::uint64_t>(until_us - epoch_us(now) - 1);
    return left_us <= static_cast<std::uint64_t>(quota.window().count()) / kFineCounts;
  }
  std::int64_t left(Instant now) const {
    const std::int64_t left_us = faded_us - epoch_us(now);
    return later + (left_us >= length_us ? fading : algo::mul_div_ceil(fading, left_us, length_us));
  }
  std::int64_t weight(const Quota&, const algo::SlidingWindowState& state, Instant now) const {
    const std::int64_t weight = left(now);
    return weight <= state.previous ? weight : kLimitMax;  // not this path: the slot has lost some
  }
  Duration more_after(const Quota&, const algo::SlidingWindowState&, std::int64_t weight,
                      std::int64_t held, Instant now) const {
    const std::int64_t all = fading > 0 ? fading : held;
    const std::int64_t left = (weight > 0 ? weight - later : all) - 1;
    return Duration{faded_us - epoch_us(now) - algo::mul_div_floor(left, length_us, all)};
  }
};

class FinePlace {
 public:
  bool is_void(Instant now) const { return void_us_ <= epoch_us(now); }
  // The used part of its limit, in 1/128.
  std::int64_t share() const { return share_of(limit_, units(counted_ + rest_ + leaving_)); }
  static std::int64_t share_of(std::int64_t limit, std::int64_t held) {
    return 128 * std::min(limit, held) / std::max<std::int64_t>(1, limit);
  }

  // Makes it a place of another key, whose units it spreads evenly.
  // REQUIRES: here and below, `state` is rolled to `now`
  void take(const Quota& quota, const algo::SlidingWindowState& state, Instant now);
  // Enters the slot's `current` as of the end of the last count.
  void enter(std::int64_t current) {
    add(std::max<std::int64_t>(0, (current >> shift_) - counted_));
  }
  // Brings the place up to `now`, and to the slot's units.
  void touch(const Quota& quota, const algo::SlidingWindowState& state, Instant now);
  // The slot's current count is about to be this.
  void note(std::int64_t current) { add((current >> shift_) - counted_); }

  // As algo::EvenPast, but by this place's counts. REQUIRES: touch() was called
  std::int64_t weight(const Quota& quota, const algo::SlidingWindowState& state,
                      Instant now) const {
    return std::min(state.previous, fading_of(quota, at_, leaving_).left(now));
  }
  std::int64_t faded_at_us(const Quota& quota, const algo::SlidingWindowState& state,
                           algo::EvenPast::Count count, std::int64_t units) const;
  // How the next units fade, until the count ends or there is news.
  FineFading fading(const Quota& quota) const;
  bool take_news() { return std::exchange(has_news_, false); }

 private:
  static constexpr std::int64_t kCounts = kFineCounts;

  static std::int64_t begin_us(std::int64_t window_us, std::int64_t at) {
    return (at * window_us + kCounts - 1) / kCounts;
  }
  std::int64_t units(std::int64_t count) const { return count << shift_; }
  FineFading fading_of(const Quota& quota, std::int64_t at, std::int64_t count) const;
  std::int64_t first_from(std::int64_t at, std::int64_t end) const;
  void spread(const algo::SlidingWindowState& state);
  void roll(const algo::SlidingWindowState& state);
  void add(std::int64_t count);

  std::int64_t start_us_ = 0;  // of the current window
  std::int64_t limit_ = 0;     // that the counts are for
  std::int64_t void_us_ = 0;
  std::int32_t rest_ = 0;     // units of the previous window after `at_`
  std::int32_t leaving_ = 0;  // units of the previous window at `at_`
  std::int32_t counted_ = 0;  // units of the current window
  std::uint16_t at_ = 0;
  std::uint8_t shift_ = 0;
  bool has_news_ = false;
  std::array<std::uint16_t, kCounts> counts_{};
};

// A place's face: threads without the lock read it, and leave the slot's units there for the place.
class FineFace {
 public:
  // Two keys with one `low` share a place: that costs precision, never a unit.
  bool is_of(const KeyHash& key) const { return read(key_) == key.low; }
  // A reader uses said() only if the version is the same before and after.
  std::uint64_t version() const { return read(version_); }
  FineFading said() const {
    return {read(until_us_), read(later_), read(fading_), read(faded_us_), read(length_us_)};
  }
  // Leaves the slot's current units, if the version still holds.
  void leave(std::uint64_t version, std::int64_t current) {
    left_.store(version + static_cast<std::uint64_t>(current), std::memory_order_release);
  }

  // REQUIRES: from here on, the set's lock
  void say(const KeyHash& key, const FineFading& said) {
    // A reader of a new word sees the new version. A reader of the new version sees no old `until`.
    const auto write = [](auto& word, auto value) { word.store(value, std::memory_order_release); };
    write(until_us_, std::int64_t{0});
    write(version_, version() + kVersion);
    write(key_, key.low);
    write(later_, said.later);
    write(fading_, said.fading);
    write(faded_us_, said.faded_us);
    write(length_us_, said.length_us);
    write(until_us_, said.until_us);
  }
  // The slot's latest units that a thread left under this version; 0: no thread did.
  std::int64_t left() const {
    const std::uint64_t current = read(left_) - version();
    return current < kVersion ? static_cast<std::int64_t>(current) : 0;
  }

 private:
  using Word = std::atomic<std::int64_t>;
  template <typename T>
  static T read(const std::atomic<T>& word) {
    return word.load(std::memory_order_acquire);
  }
  static constexpr std::uint64_t kVersion = std::uint64_t{1} << 40;  // more than any count

  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> key_{0};
  std::atomic<std::uint64_t> left_{0};
  Word until_us_{0}, later_{0}, fading_{0}, faded_us_{0}, length_us_{0};
};

class FineCounts {
 public:
  // A place as a past of algo/sliding_window.h.
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
  };

  // A reader's copy of a face; no face if the key has no place.
  struct Glance {
    FineFace* face = nullptr;
    std::uint64_t version = 0;
    FineFading said;

    // REQUIRES: the slot's current count is now `current`
    void leave(std::int64_t current) const {
      if (face != nullptr) face->leave(version, current);
    }
  };

  // REQUIRES: places > 0
  explicit FineCounts(std::size_t places) : sets_((places + kSetPlaces - 1) / kSetPlaces) {}

  static bool is_near(const Quota& quota, const algo::SlidingWindowState& state,
                      std::int64_t cost) noexcept {
    return 4 * (state.previous + state.current + cost) > quota.limit();
  }

  // algo::decide(), by the key's place if it has one.
  algo::Step<algo::SlidingWindowState> decide(const Charge& charge,
                                              const algo::SlidingWindowState& state,
                                              Instant now) noexcept;
  // The answer that a store's spend() would give; `remaining` is before the cost.
  Decision look(const Charge& charge, const algo::SlidingWindowState& state, Instant now) noexcept;

  // Packing::spend(), by the key's place if it has one. The caller tells `glance` the slot's units
  // after that. `word` may be two halves of different words; places see only whole words.
  Packing::Next spend(const Packing& packing, const Atomic128& slot, const Charge& charge,
                      SlotWord word, const algo::SlidingWindowState& state, Instant now,
                      Decision& decision, Glance& glance) noexcept {
    const Quota& quota = *charge.quota;
    if (is_near(quota, state, charge.cost)) {
      glance = glance_at(charge.key);
      if (!glance.said.covers(quota, now)) [[unlikely]] {
        if (slot.load() != word.bits()) return std::nullopt;
        glance = bring(Charge(charge), algo::SlidingWindowState(state), now);
      }
      if (glance.face != nullptr) [[likely]] {
        return packing.spend(quota, word, state, charge.cost, now, decision, glance.said);
      }
    }
    return packing.spend(quota, word, state, charge.cost, now, decision);
  }

  std::size_t bytes() const noexcept { return sets_.bytes(); }

 private:
  static constexpr std::size_t kSetPlaces = 4;

  struct alignas(64) Set {                   // valid as zeros
    std::array<FineFace, kSetPlaces> faces;  // of the places
    std::array<FinePlace, kSetPlaces> places;
    HoldMutex mutex;  // guards the places, and what faces say

    // The number of the key's place; kSetPlaces if it has none.
    std::size_t find(const KeyHash& key, const Quota& quota, const algo::SlidingWindowState& state,
                     Instant now) noexcept;
  };

  // Calls `decide` with the key's Past, or with algo::EvenPast if it has no place. `decide` returns
  // the slot's new current count, negative if it stays. Returns a glance at the place after that.
  // REQUIRES: `state` is rolled to `now`
  template <typename Decide>
  Glance with_past(const Charge& charge, const algo::SlidingWindowState& state, Instant now,
                   Decide decide) noexcept;

  Glance glance_at(const KeyHash& key) noexcept {
    for (FineFace& face : set_of(key).faces) {
      const std::uint64_t version = face.version();  // read first
      if (!face.is_of(key)) continue;
      const FineFading said = face.said();
      if (face.version() == version) return {&face, version, said};
    }
    return {};
  }
  Glance bring(const Charge& charge, const algo::SlidingWindowState& state, Instant now) noexcept;

  Set& set_of(const KeyHash& key) noexcept {
    return sets_[static_cast<std::size_t>((static_cast<Uint128>(key.high) * sets_.size()) >> 64)];
  }

  HugeArray<Set> sets_;
};

// Packing::spend(), by `fine` if it is there.
template <bool kFine, typename Plain>
inline Packing::Next next_of([[maybe_unused]] FineCounts* fine, const Packing& packing,
                             [[maybe_unused]] const Atomic128& slot, const Charge& charge,
                             SlotWord word, const Plain& state, Instant now, Decision& decision,
                             [[maybe_unused]] FineCounts::Glance& glance) noexcept {
  if constexpr (kFine) {
    return fine->spend(packing, slot, charge, word, state, now, decision, glance);
  } else {
    return packing.spend(*charge.quota, word, state, charge.cost, now, decision);
  }
}

// Whether keys of this state can have places.
template <typename State>
inline constexpr bool kMayBeFine = std::is_same_v<State, algo::SlidingWindowState>;

// algo::decide(), by `fine` unless it is null.
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
