// Packing: the states of the compact algorithms as SlotWord payloads, and back.
//
// Exact both ways: unpack(pack(state)) == state for every state that the algorithm can reach under
// a quota that fits(). Other quotas have counts, up to twice the limit, too large for the bits that
// their window leaves; their keys live in the wide store. For sliding_window these are limits over
// about 32,000 a millisecond, 1 million a second, 8 million a minute. A token bucket does not
// fit if its reduced fraction needs a denominator over 8 million.
//
// An adaptive quota must fit as a bucket, as a window, and with a penalty next to the counts, which
// leaves least room. Limits over 500 a millisecond, 16,000 a second, 65,000 a minute or a longer
// window live in the wide store, whatever is active.
//
// Only the quota decides whether it fits, so a key never moves between stores while its quota
// stays.
//
// Thread rule: immutable values. Tested by packing_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "algo/adaptive.h"
#include "algo/calendar_window.h"
#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/strict_window.h"
#include "algo/token_bucket.h"
#include "store/memory/penalty_mark.h"
#include "store/memory/slot_word.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// Bits of each of the two counts next to a penalty.
constexpr int penalty_half_bits(int shift) {
  return (SlotWord::kCountBits + shift - PenaltyMark::bits(shift)) / 2;
}
// penalty_half_bits() by the window's own shift, which is 44 at most.
inline constexpr auto kPenaltyHalfBits = [] {
  std::array<std::int8_t, 45> bits{};
  for (int shift = 9; shift < 45; ++shift) {
    const int rounded = SlotWord::penalty_shift(SlotWord::penalty_code(shift));
    bits[static_cast<std::size_t>(shift)] = static_cast<std::int8_t>(penalty_half_bits(rounded));
  }
  return bits;
}();

// check:allow(methods): overloads that pack, unpack and spend, one for each layout of the word
class Packing {
 public:
  // Times are kept relative to `base` and must lie within 17.8 years after it; earlier
  // and later ones are moved to the ends of that range.
  explicit Packing(Instant base) : base_us_(epoch_us(base)) {}

  static bool fits(const Quota& quota);
  // Whether the quota's keys may have fine counts (fine_counts.h).
  static bool may_be_precise(const Quota& quota) {
    return quota.algorithm() == Algorithm::kSlidingWindow && fits(quota);
  }

  SlotWord::Payload pack(const Quota& quota, const algo::FixedWindowState& state) const {
    const int shift = shift_of(quota);
    return {shift, time_of(state.start_us, shift), static_cast<Uint128>(state.count)};
  }
  SlotWord::Payload pack(const Quota&, const algo::CalendarWindowState& state) const {
    return {kEndShift, time_of(state.end_us, kEndShift), static_cast<Uint128>(state.count)};
  }
  SlotWord::Payload pack(const Quota& quota, const algo::SlidingWindowState& state) const {
    const int shift = shift_of(quota);
    const Uint128 counts = (static_cast<Uint128>(state.previous) << half_bits(shift)) |
                           static_cast<Uint128>(state.current);
    return {shift, time_of(state.start_us, shift), counts};
  }
  // Up to four sub-windows begin within a unit of the time; the newest one's number comes first.
  SlotWord::Payload pack(const Quota& quota, const algo::StrictWindowState& state) const {
    const int shift = shift_of(quota);
    const std::int64_t into_us = (state.start_us - base_us_) & ~SlotWord::whole_units(shift);
    auto counts = static_cast<Uint128>(into_us / algo::sub_window_us(quota));
    for (const std::int64_t count : state.counts) {
      counts = counts << fifth_bits(shift) | static_cast<Uint128>(count);
    }
    return {shift, time_of(state.start_us, shift), counts};
  }
  SlotWord::Payload pack(const Quota&, const algo::TokenBucketState& state) const {
    return {0, time_of(state.tat_us, 0), static_cast<std::uint64_t>(state.tat_ticks)};
  }
  SlotWord::Payload pack(const Quota& quota, const algo::AdaptiveState& state) const {
    if (state.is_bucket()) return pack(quota, state.bucket());
    return state.has_penalty() ? pack_penalty(quota, state) : pack(quota, state.counts());
  }

  void unpack(const Quota& quota, SlotWord word, algo::FixedWindowState& state) const {
    state.start_us = window_start(quota, word, shift_of(quota));
    unpack_counts(quota, word, state);
  }
  void unpack(const Quota&, SlotWord word, algo::CalendarWindowState& state) const {
    state.end_us = multiple_from(kEndGrain.count(), word, kEndShift);
    state.count = word.last_count(kEndBits);
  }
  void unpack(const Quota& quota, SlotWord word, algo::SlidingWindowState& state) const {
    state.start_us = window_start(quota, word, shift_of(quota));
    unpack_counts(quota, word, state);
  }
  void unpack(const Quota& quota, SlotWord word, algo::StrictWindowState& state) const {
    const int shift = shift_of(quota);
    const int bits = fifth_bits(shift);
    const std::int64_t width_us = algo::sub_window_us(quota);
    Uint128 counts = word.counts(shift);
    for (std::size_t at = state.counts.size(); at > 0; --at, counts = counts >> bits) {
      state.counts[at - 1] = static_cast<std::int64_t>(counts & ((Uint128{1} << bits) - 1));
    }
    state.start_us =
        multiple_from(width_us, word, shift) + static_cast<std::int64_t>(counts) * width_us;
  }
  void unpack(const Quota&, SlotWord word, algo::TokenBucketState& state) const {
    state.tat_us = base_us_ + word.time_us(0);
    state.tat_ticks = word.last_count(SlotWord::kCountBits);
  }
  void unpack(const Quota& quota, SlotWord word, algo::AdaptiveState& state) const {
    if (word.is_bucket()) {
      algo::TokenBucketState bucket;
      unpack(quota, word, bucket);
      state = algo::AdaptiveState::of(bucket);
    } else if (!word.has_penalty()) {
      algo::SlidingWindowState counts;
      unpack(quota, word, counts);
      state = algo::AdaptiveState::of(counts);
    } else {
      state = unpack_penalty(quota, word);
    }
  }

  // Unpacks a word whose window, if it has one, is that of `now`. False: it is of another window.
  template <typename State>
  bool unpack_now(const Quota& quota, SlotWord word, Instant now, State& state) const {
    if constexpr (std::is_same_v<State, algo::TokenBucketState>) {
      unpack(quota, word, state);
    } else if constexpr (std::is_same_v<State, algo::StrictWindowState>) {
      return unpack_newest(quota, word, now, state);
    } else if constexpr (std::is_same_v<State, algo::CalendarWindowState>) {
      state.end_us = algo::ends_at(quota, now).current_us;
      state.count = word.last_count(kEndBits);
      return word.is_of(state.end_us - base_us_, kEndShift);
    } else {
      state.start_us = algo::window_start(quota.window().count(), epoch_us(now));
      if (!word.is_of(state.start_us - base_us_, shift_of(quota))) return false;
      unpack_counts(quota, word, state);
    }
    return true;
  }

  // The code of words of this state without a penalty.
  template <typename State>
  static int code_of(const Quota& quota) {
    if (std::is_same_v<State, algo::CalendarWindowState>) return kEndShift;
    return std::is_same_v<State, algo::TokenBucketState> ? 0 : shift_of(quota);
  }

  // The fast path: algo::decide() and pack() in one, for charges that leave something and, in a
  // window, only add to its last count. Most charges are so. Returns the next word and sets
  // `decision`; nullopt: the charge needs both. REQUIRES: 0 < cost, `decision` is as made
  using Next = std::optional<SlotWord>;
  Next spend(const Quota& quota, SlotWord word, const algo::FixedWindowState& state,
             std::int64_t cost, Instant now, Decision& decision) const {
    const Duration elapsed{epoch_us(now) - state.start_us};
    const std::int64_t left = quota.limit() - state.count - cost;
    if (left <= 0) return std::nullopt;
    decision.limit = quota.limit();
    decision.remaining = left;
    decision.reset_after = decision.more_after = quota.window() - elapsed;
    return word.with_rank(Rank::kPlain).plus(cost);
  }
  Next spend(const Quota& quota, SlotWord word, const algo::CalendarWindowState& state,
             std::int64_t cost, Instant now, Decision& decision) const {
    const std::int64_t left = quota.limit() - state.count - cost;
    if (left <= 0) return std::nullopt;
    decision.limit = quota.limit();
    decision.remaining = left;
    decision.reset_after = decision.more_after = instant_from_epoch_us(state.end_us) - now;
    return word.with_rank(Rank::kPlain).plus(cost);
  }
  template <typename Past = algo::EvenPast>
  Next spend(const Quota& quota, SlotWord word, const algo::SlidingWindowState& state,
             std::int64_t cost, Instant now, Decision& decision, const Past& past = {}) const {
    const std::int64_t window_us = quota.window().count();
    const std::int64_t elapsed_us = epoch_us(now) - state.start_us;
    const std::int64_t weight = past.weight(quota, state, now);
    const std::int64_t held = state.current + cost + weight;
    if (held >= quota.limit()) return std::nullopt;
    decision.limit = quota.limit();
    decision.remaining = quota.limit() - held;
    decision.reset_after = Duration{2 * window_us - elapsed_us};
    decision.more_after = past.more_after(quota, state, weight, held, now);
    return word.with_rank(Rank::kPlain).plus(cost);
  }
  // Sums the five counts within the word: the product has the sum in the place of the oldest.
  Next spend(const Quota& quota, SlotWord word, const algo::StrictWindowState& state,
             std::int64_t cost, Instant now, Decision& decision) const {
    const int bits = fifth_bits(shift_of(quota));
    const auto counts = static_cast<std::uint64_t>(word.last_count(5 * bits));
    const std::uint64_t sums = counts * kFifths[static_cast<std::size_t>(bits)];
    const auto sum = static_cast<std::int64_t>(sums << (64 - 5 * bits) >> (64 - bits));
    const std::int64_t held = sum + cost;
    if (held >= quota.limit()) return std::nullopt;
    const std::uint64_t older = counts >> bits;  // than the newest
    const std::int64_t empty = (older >> 3 * bits == 0) + (older >> 2 * bits == 0) +
                               (older >> bits == 0) + (older == 0);  // empty counts, oldest first
    const std::int64_t width_us = algo::sub_window_us(quota);
    const std::int64_t elapsed_us = epoch_us(now) - state.start_us;
    decision.limit = quota.limit();
    decision.remaining = quota.limit() - held;
    decision.reset_after = Duration{state.kCounts * width_us - elapsed_us};
    decision.more_after = Duration{(empty + 1) * width_us - elapsed_us};
    return word.with_rank(Rank::kPlain).plus(cost);
  }
  Next spend(const Quota& quota, SlotWord word, const algo::TokenBucketState& state,
             std::int64_t cost, Instant now, Decision& decision) const {
    if (quota.ticks_per_us() != 1) {
      return spend_ticks(quota, word, state, cost, now, decision, quota.ticks_per_us());
    }
    constexpr std::integral_constant<std::int64_t, 1> kTicksAreUs;  // as whenever T is whole
    return spend_ticks(quota, word, state, cost, now, decision, kTicksAreUs);
  }

  bool expired(SlotWord word, Instant now) const {
    return word.expiry_us() <= epoch_us(now) - base_us_;
  }

 private:
  template <typename TicksPerUs>
  Next spend_ticks(const Quota& quota, SlotWord word, const algo::TokenBucketState& state,
                   std::int64_t cost, Instant now, Decision& decision, TicksPerUs per_us) const {
    const std::int64_t per_unit = quota.ticks_per_unit();
    const std::int64_t ahead_us = state.tat_us - epoch_us(now);
    std::int64_t full = 0;
    std::int64_t debt = 0;
    if (cost > quota.capacity() || !algo::multiply(quota.capacity(), per_unit, &full) ||
        full > algo::kNarrowTicksMax ||
        !algo::multiply(std::max<std::int64_t>(0, ahead_us), per_us, &debt) || debt > full) {
      return std::nullopt;
    }
    if (per_us > 1 && ahead_us >= 0) debt += algo::ticks_of(quota, state);
    debt += cost * per_unit;
    const std::int64_t left = full - debt;
    algo::TokenBucketState next{epoch_us(now) + debt / per_us, debt % per_us};
    if (left < per_unit || !is_below_bit(next.tat_us - base_us_, SlotWord::kTimeBits)) {
      return std::nullopt;
    }
    decision.limit = quota.capacity();
    decision.remaining = left / per_unit;
    decision.reset_after = Duration{debt / per_us + (next.tat_ticks > 0 ? 1 : 0)};
    const std::int64_t missing = (quota.capacity() - decision.remaining - 1) * per_unit;
    decision.more_after = decision.reset_after - Duration{missing / per_us};
    return SlotWord::make(word.fingerprint(), Rank::kPlain, pack(quota, next));
  }

  // unpack_now() for a word with its counts in the lower half: windows below 203 days.
  bool unpack_newest(const Quota& quota, SlotWord word, Instant now,
                     algo::StrictWindowState& state) const {
    const int shift = shift_of(quota);
    const int bits = fifth_bits(shift);
    const std::int64_t width_us = algo::sub_window_us(quota);
    state.start_us = algo::window_start(width_us, epoch_us(now));
    if (static_cast<std::size_t>(bits) >= kFifths.size() ||
        !word.is_of(state.start_us - base_us_, shift)) {
      return false;
    }
    const std::int64_t into_us = (state.start_us - base_us_) & ~SlotWord::whole_units(shift);
    const std::int64_t number =  // of the sub-window, among those that begin within the unit
        (into_us >= width_us) + (into_us >= 2 * width_us) + (into_us >= 3 * width_us);
    std::int64_t counts = word.last_count(5 * bits + 2);
    if (counts >> 5 * bits != number) return false;
    for (std::size_t at = state.counts.size(); at > 0; --at, counts >>= bits) {
      state.counts[at - 1] = counts & ((std::int64_t{1} << bits) - 1);
    }
    return true;
  }

  // Calendar windows end at whole seconds of the wall clock, which leads the time of limits by
  // whole hundredths of a second (net/loop/wall_clock.h). So a unit of the time has one at most.
  static constexpr Duration kEndGrain = std::chrono::milliseconds(10);
  static constexpr int kEndShift = 13;
  static constexpr int kEndBits = SlotWord::kCountBits + kEndShift;  // bits of the count

  static bool is_below_bit(std::int64_t value, int bit) { return value >> bit == 0; }
  // A window is 1 ms at least.
  static int shift_of(const Quota& quota) {
    return 63 ^ __builtin_clzll(static_cast<unsigned long long>(quota.window().count()));
  }
  // Bits of each of a sliding window's two counts.
  static constexpr int half_bits(int shift) { return (SlotWord::kCountBits + shift) >> 1; }
  static void unpack_counts(const Quota& quota, SlotWord word, algo::FixedWindowState& state) {
    state.count = word.last_count(std::min(SlotWord::kCountBits + shift_of(quota), 63));
  }
  static void unpack_counts(const Quota& quota, SlotWord word, algo::SlidingWindowState& state) {
    const int shift = shift_of(quota);
    const int half = half_bits(shift);
    state.previous = word.count_before(half, SlotWord::kCountBits + shift - half);
    state.current = word.last_count(half);
  }
  // The bits of each of a strict window's five counts. Two more say which sub-window is the newest.
  static constexpr int fifth_bits(int shift) { return (SlotWord::kCountBits + shift - 2) / 5; }
  // For each width of a count: a 1 in each of five places, where 64 bits hold them and two more.
  static constexpr auto kFifths = [] {
    std::array<std::uint64_t, 13> ones{};
    for (std::size_t bits = 1; bits < ones.size(); ++bits) {
      for (std::size_t place = 0; place < 5; ++place) {
        ones[bits] |= std::uint64_t{1} << (place * bits);
      }
    }
    return ones;
  }();

  [[gnu::noinline, gnu::cold]] SlotWord::Payload pack_penalty(
      const Quota& quota, const algo::AdaptiveState& state) const {
    const int code = SlotWord::penalty_code(shift_of(quota));
    const int shift = SlotWord::penalty_shift(code);
    const int half = penalty_half_bits(shift);
    Uint128 counts = static_cast<Uint128>(state.previous);
    counts = counts << half | static_cast<Uint128>(state.current);
    counts = counts << PenaltyMark::bits(shift) | PenaltyMark::of(state).number();
    return {code, time_of(state.time_us, shift), counts};
  }
  [[gnu::noinline, gnu::cold]] algo::AdaptiveState unpack_penalty(const Quota& quota,
                                                                  SlotWord word) const {
    const int shift = SlotWord::penalty_shift(word.code());
    const int half = penalty_half_bits(shift);
    const int mark = PenaltyMark::bits(shift);
    const Uint128 counts = word.counts(shift);
    const auto part = [counts](int from, int bits) {
      return static_cast<std::uint64_t>(counts >> from & ((Uint128{1} << bits) - 1));
    };
    algo::AdaptiveState state;
    state.time_us = window_start(quota, word, shift);
    state.previous = static_cast<std::int64_t>(part(mark + half, half));
    state.current = static_cast<std::int64_t>(part(mark, half));
    PenaltyMark(part(0, mark)).put_into(state);
    return state;
  }

  std::int64_t time_of(std::int64_t us, int shift) const {
    constexpr std::int64_t kTimeMax = (std::int64_t{1} << SlotWord::kTimeBits) - 1;
    return std::clamp(us - base_us_, std::int64_t{0}, kTimeMax) & SlotWord::whole_units(shift);
  }

  // The one multiple of the window among the 2^shift microseconds that `time` names.
  std::int64_t window_start(const Quota& quota, SlotWord word, int shift) const {
    return multiple_from(quota.window().count(), word, shift);
  }
  // The first multiple not before `time`.
  std::int64_t multiple_from(std::int64_t width_us, SlotWord word, int shift) const {
    const auto width = static_cast<std::uint64_t>(width_us);
    const auto earliest = static_cast<std::uint64_t>(base_us_ + word.time_us(shift));
    return static_cast<std::int64_t>((earliest + width - 1) / width * width);
  }

  std::int64_t base_us_;
};

// A count has one bit more than the limit, as a window's count goes up to twice the limit.
inline bool Packing::fits(const Quota& quota) {
  switch (quota.algorithm()) {
    [[likely]] case Algorithm::kSlidingWindow:
      return is_below_bit(quota.limit(), half_bits(shift_of(quota)) - 1);
    case Algorithm::kFixedWindow:
      // A window is at least 1 ms, so its count has at least 32 bits. From 50.9 days on it would
      // have more than 64 bits, so such a window does not fit.
      return SlotWord::kCountBits + shift_of(quota) <= 64 &&
             is_below_bit(quota.limit(), SlotWord::kCountBits + shift_of(quota) - 1);
    case Algorithm::kAdaptive:
      return is_below_bit(quota.limit(),
                          kPenaltyHalfBits[static_cast<std::size_t>(shift_of(quota))] - 1) &&
             quota.ticks_per_us() <= std::int64_t{1} << SlotWord::kCountBits;
    case Algorithm::kStrictWindow:
      return is_below_bit(quota.limit(), fifth_bits(shift_of(quota)) - 1);
    case Algorithm::kTokenBucket:
      return quota.ticks_per_us() <= std::int64_t{1} << SlotWord::kCountBits;
    case Algorithm::kCalendarWindow:
#ifndef WEIR_WITHOUT_ADAPTIVE
      return is_below_bit(quota.limit(), kEndBits - 1);
#endif
    case Algorithm::kSlidingLog:
    case Algorithm::kExponentialBackoff: return false;
  }
  return false;
}

}  // namespace weir
