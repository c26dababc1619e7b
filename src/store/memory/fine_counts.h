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
// Most hits take no lock. The first one in a count brings the place there, and says on the place's
// face how the units fade while that count lasts. The others read the face, exchange the slot, and
// leave on the face what the slot has then. The first one in a later count enters that into the old
// count, and what else the slot has into its own. A version tells whether the face has changed
// meanwhile, or what was left there is of another count or key.
//
// Thread rule: any thread, concurrently; a set has a lock, and nobody holds two.
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

inline constexpr std::int64_t kFineCounts = 256;  // of a window

// How the next of a key's units fade, while one count lasts: a past of algo/sliding_window.h for
// Packing::spend().
struct FineFading {
  std::int64_t until_us = 0;   // when the count ends
  std::int64_t later = 0;      // units of the previous window that begin to fade after the next
  std::int64_t fading = 0;     // the next. None: all that the current window has
  std::int64_t faded_us = 0;   // when they have
  std::int64_t length_us = 0;  // and how long it takes them

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
    return weight <= state.previous ? weight : kLimitMax;  // others decide: the slot has lost some
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
  // Of its limit, in 1/128.
  std::int64_t share() const { return share_of(limit_, units(counted_ + rest_ + leaving_)); }
  static std::int64_t share_of(std::int64_t limit, std::int64_t held) {
    return 128 * std::min(limit, held) / std::max<std::int64_t>(1, limit);
  }

  // Makes it a place of another key: its units are spread evenly.
  // REQUIRES: here and below, `state` is rolled to `now`
  void take(const Quota& quota, const algo::SlidingWindowState& state, Instant now);
  // The slot had so much at the end of the count that was the last.
  void enter(std::int64_t current) {
    add(std::max<std::int64_t>(0, (current >> shift_) - counted_));
  }
  // Brings it to `now`, and to what the slot has.
  void touch(const Quota& quota, const algo::SlidingWindowState& state, Instant now);
  // The current count is about to be this.
  void note(std::int64_t current) { add((current >> shift_) - counted_); }

  // Answers as algo::EvenPast does, by the counts of this place. REQUIRES: touched
  std::int64_t weight(const Quota& quota, const algo::SlidingWindowState& state,
                      Instant now) const {
    return std::min(state.previous, fading_of(quota, at_, leaving_).left(now));
  }
  std::int64_t faded_at_us(const Quota& quota, const algo::SlidingWindowState& state,
                           algo::EvenPast::Count count, std::int64_t units) const;
  // Says how the next unit fades. This holds until the count ends or there is news.
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
  std::int64_t limit_ = 0;     // that the counts are made for
  std::int64_t void_us_ = 0;
  std::int32_t rest_ = 0;     // of the previous window, after `at_`
  std::int32_t leaving_ = 0;  // of the previous window, at `at_`
  std::int32_t counted_ = 0;  // of the current window
  std::uint16_t at_ = 0;
  std::uint8_t shift_ = 0;
  bool has_news_ = false;
  std::array<std::uint16_t, kCounts> counts_{};
};

// A place speaks here to threads that take no lock, and they leave their counts here for the place.
class FineFace {
 public:
  // Two keys that are taken for one share a place: that costs precision, never a unit.
  bool is_of(const KeyHash& key) const { return read(key_) == key.low; }
  // A reader believes what is said only if the version is the same before and after.
  std::uint64_t version() const { return read(version_); }
  FineFading said() const {
    return {read(until_us_), read(later_), read(fading_), read(faded_us_), read(length_us_)};
  }
  // Under that version, the slot has come to this.
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
  // The count of the slot, as far as threads left it here.
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
  };

  // A reader's copy of what a face said of its key; no face if the key has no place.
  struct Glance {
    FineFace* face = nullptr;
    std::uint64_t version = 0;
    FineFading said;

    // Once the slot has come to this.
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

  // algo::decide() by what is known of the key.
  algo::Step<algo::SlidingWindowState> decide(const Charge& charge,
                                              const algo::SlidingWindowState& state,
                                              Instant now) noexcept;
  // The answer that a store's spend() would give; `remaining` is before the cost.
  Decision look(const Charge& charge, const algo::SlidingWindowState& state, Instant now) noexcept;

  // Packing::spend(), by what is known of the key; `glance` is to be told what the slot has then.
  // `word` may be of two halves that never were together; places see only whole ones.
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
    HoldMutex mutex;  // guards them

    // The number of the key's place; kSetPlaces if it has none.
    std::size_t find(const KeyHash& key, const Quota& quota, const algo::SlidingWindowState& state,
                     Instant now) noexcept;
  };

  // Calls `decide` with what is known of the key: a Past, or algo::EvenPast. It returns the current
  // count that the slot is to have, or a negative number if it stays. Returns what is known then.
  // REQUIRES: `state` is rolled to `now`
  template <typename Decide>
  Glance with_past(const Charge& charge, const algo::SlidingWindowState& state, Instant now,
                   Decide decide) noexcept;

  Glance glance_at(const KeyHash& key) noexcept {
    for (FineFace& face : set_of(key).faces) {
      const std::uint64_t version = face.version();  // before all else
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

// Packing::spend(), by what `fine` knows of keys near their limits, if there is one.
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

// Whether there may be places for keys of this state.
template <typename State>
inline constexpr bool kMayBeFine = std::is_same_v<State, algo::SlidingWindowState>;

// algo::decide(), by what `fine` knows of keys near their limits. It may be null.
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
