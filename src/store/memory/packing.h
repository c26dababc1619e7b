// Packing: the states of the compact algorithms as SlotWord payloads, and back.
//
// Exact both ways: unpack(pack(state)) == state for every state that the algorithm can
// reach under a quota that fits(). A quota that does not fit has counts too large for the
// bits that its window leaves (about: limits over 65,000 per millisecond, 2 million a
// second, 16 million a minute for sliding_window; a token bucket whose reduced fraction
// needs a denominator over 8 million); its keys live in the wide store.
//
// Whether a quota fits depends on nothing but the quota, so a key never moves between
// stores while its quota stays.
//
// Thread rule: immutable values. Tested by packing_test.cc.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "algo/fixed_window.h"
#include "algo/sliding_window.h"
#include "algo/token_bucket.h"
#include "store/memory/slot_word.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

class Packing {
 public:
  // Times are kept relative to `base` and must lie within 17.8 years after it; earlier
  // and later ones are moved to the ends of that range.
  explicit Packing(Instant base) : base_us_(epoch_us(base)) {}

  static bool fits(const Quota& quota);

  SlotWord::Payload pack(const Quota& quota, const algo::FixedWindowState& state) const {
    const int shift = shift_of(quota);
    return {shift, time_of(state.start_us, shift), static_cast<Uint128>(state.count)};
  }
  SlotWord::Payload pack(const Quota& quota, const algo::SlidingWindowState& state) const {
    const int shift = shift_of(quota);
    const Uint128 counts = (static_cast<Uint128>(state.previous) << half_bits(shift)) |
                           static_cast<Uint128>(state.current);
    return {shift, time_of(state.start_us, shift), counts};
  }
  SlotWord::Payload pack(const Quota&, const algo::TokenBucketState& state) const {
    return {0, time_of(state.tat_us, 0), static_cast<Uint128>(state.tat_ticks)};
  }

  void unpack(const Quota& quota, SlotWord word, algo::FixedWindowState& state) const {
    state.start_us = window_start(quota, word);
    state.count = static_cast<std::int64_t>(word.counts());
  }
  void unpack(const Quota& quota, SlotWord word, algo::SlidingWindowState& state) const {
    const int half = half_bits(word.shift());
    state.start_us = window_start(quota, word);
    state.previous = static_cast<std::int64_t>(word.counts() >> half);
    state.current = static_cast<std::int64_t>(word.counts() & ((Uint128{1} << half) - 1));
  }
  void unpack(const Quota&, SlotWord word, algo::TokenBucketState& state) const {
    state.tat_us = base_us_ + word.time();
    state.tat_ticks = static_cast<std::int64_t>(word.counts());
  }

  bool expired(SlotWord word, Instant now) const {
    return word.expiry_us() <= epoch_us(now) - base_us_;
  }

 private:
  static int bits_of(std::int64_t value) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
  }
  static int shift_of(const Quota& quota) { return bits_of(quota.window().count()) - 1; }
  // Bits of each of a sliding window's two counts.
  static constexpr int half_bits(int shift) { return (SlotWord::kCountBits + shift) / 2; }

  std::int64_t time_of(std::int64_t us, int shift) const {
    constexpr std::int64_t kTimeMax = (std::int64_t{1} << SlotWord::kTimeBits) - 1;
    return std::clamp(us - base_us_, std::int64_t{0}, kTimeMax) >> shift;
  }

  // The one multiple of the window among the 2^shift microseconds that `time` names.
  std::int64_t window_start(const Quota& quota, SlotWord word) const {
    const std::int64_t window_us = quota.window().count();
    const std::int64_t earliest = base_us_ + (word.time() << word.shift());
    return (earliest + window_us - 1) / window_us * window_us;
  }

  std::int64_t base_us_;
};

inline bool Packing::fits(const Quota& quota) {
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow:
      // A window is at least 1 ms, so there are 32 bits at least.
      return bits_of(quota.limit()) <= SlotWord::kCountBits + shift_of(quota);
    case Algorithm::kAdaptive:
    case Algorithm::kSlidingWindow: return bits_of(quota.limit()) <= half_bits(shift_of(quota));
    case Algorithm::kTokenBucket:
      return quota.ticks_per_us() <= std::int64_t{1} << SlotWord::kCountBits;
    case Algorithm::kSlidingLog:
    case Algorithm::kExponentialBackoff: return false;
  }
  return false;
}

}  // namespace weir
