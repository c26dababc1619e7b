// SlotWord: one key's whole record in sixteen bytes.
//
//   127        80 79   74 73  72 71                                     0
//   +------------+-------+------+---------------------------------------+
//   | fingerprint| code  | rank | time (49-shift) | counts (23+shift)   |
//   |     48     |   6   |  2   |              payload 72               |
//   +------------+-------+------+---------------------------------------+
//
// `time` is in units of 2^shift microseconds since the table's base. It is the start of a window,
// the end of a calendar window, or the TAT of a token bucket. A window's shift is floor(log2
// window). One multiple of the window lies in each unit, so the start is found again exactly. The
// bits that a coarser time saves hold larger counts. A calendar window's shift is 13, a token
// bucket's 0. Whatever the shift is, the upper 49 bits of the payload are the microseconds of
// `time`, except for the lowest `shift` of them, which are counts.
//
// The code says what the state is, and its shift:
//
//   0          a token bucket
//   9 to 44    a window; the code is its shift
//   45 to 62   a window with a penalty (penalty_mark.h): 45 + k has the shift 9 + 2k, the
//              largest of these that the window has, as there are too few codes for each
//   63         a claim
//
// From the word alone, without its quota, anyone can tell when it is surely void
// (expiry_us below). That is what lets any thread reuse any slot.
//
// A word of zeros is an empty slot. A claim is a slot taken for a key whose first state is
// about to be written (compact_table.h); its payload is the claim's number.
//
// Thread rule: values. Tested by packing_test.cc.

#pragma once

#include <cstdint>

#include "base/atomic128.h"
#include "store/memory/room.h"

namespace weir {

// check:allow(methods): each reads or sets a part of one word, which threads exchange as a whole
class SlotWord {
 public:
  static constexpr int kFingerprintBits = 48;
  static constexpr int kPayloadBits = 72;
  static constexpr int kTimeBits = 49;  // at shift 0: 17.8 years of microseconds
  static constexpr int kCountBits = kPayloadBits - kTimeBits;  // at shift 0

  constexpr SlotWord() = default;
  explicit constexpr SlotWord(Uint128 bits) : bits_(bits) {}

  // A packed state, before it has a key and a rank.
  struct Payload {
    int code;
    std::int64_t time_us;  // since the table's base, a multiple of 2^shift; < 2^kTimeBits
    Uint128 counts;        // < 2^(kCountBits + shift)
  };

  // The code of a window with a penalty whose shift is this or one less.
  static constexpr int penalty_code(int shift) { return kPenaltyCode + (shift - kShiftMin) / 2; }
  static constexpr int penalty_shift(int code) { return kShiftMin + 2 * (code - kPenaltyCode); }

  static constexpr SlotWord make(std::uint64_t fingerprint, Rank rank, const Payload& payload) {
    // In halves, as GCC shifts 128 bits in memory.
    const auto time_us = static_cast<std::uint64_t>(payload.time_us);
    const std::uint64_t low = time_us << kCountBits | static_cast<std::uint64_t>(payload.counts);
    const std::uint64_t high =
        time_us >> (64 - kCountBits) | static_cast<std::uint64_t>(payload.counts >> 64);
    return SlotWord(head(fingerprint, payload.code, rank) | of_halves(high, low));
  }

  // `number` tells this claim from any other, so that a compare-exchange on it can't
  // mistake a later claim of the same slot for this one.
  static constexpr SlotWord claim(std::uint64_t fingerprint, std::uint64_t number) {
    return SlotWord(head(fingerprint, kClaimCode, Rank::kPlain) | number);
  }

  constexpr Uint128 bits() const { return bits_; }
  constexpr std::uint64_t high_half() const { return static_cast<std::uint64_t>(bits_ >> 64); }
  // The 64 bits from this bit on. REQUIRES: 0 < bit < 64
  constexpr std::uint64_t word_from(int bit) const {
    return high_half() << (64 - bit) | static_cast<std::uint64_t>(bits_) >> bit;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool claimed() const { return code() == kClaimCode; }
  constexpr std::uint64_t fingerprint() const { return high_half() >> 16; }
  constexpr int code() const { return static_cast<int>(high_half() >> 10) & 63; }
  constexpr bool is_bucket() const { return code() == 0; }
  constexpr bool has_penalty() const { return code() >= kPenaltyCode && !claimed(); }
  constexpr Rank rank() const { return static_cast<Rank>(static_cast<int>(high_half() >> 8) & 3); }
  constexpr SlotWord with_rank(Rank rank) const {
    const Uint128 others = bits_ & ~(Uint128{3} << kPayloadBits);
    return SlotWord(others | (static_cast<Uint128>(rank) << kPayloadBits));
  }

  // The word with so many more units in its last count.
  // REQUIRES: units >= 0; the count stays within its bits
  constexpr SlotWord plus(std::int64_t units) const {
    const auto low = static_cast<std::uint64_t>(bits_) + static_cast<std::uint64_t>(units);
    return SlotWord(of_halves(high_half(), low));
  }

  // Microseconds since the table's base, as far as the shift tells them.
  // REQUIRES: !claimed(), `shift` is that of the code
  constexpr std::int64_t time_us(int shift) const {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kTimeBits) - 1;
    return static_cast<std::int64_t>(word_from(kCountBits) & kMask) & whole_units(shift);
  }
  // Whether time_us(shift) is that of this time.
  constexpr bool is_of(std::int64_t time_us, int shift) const {
    const std::uint64_t differs = word_from(kCountBits) ^ static_cast<std::uint64_t>(time_us);
    return differs << (64 - kTimeBits) >> (64 - kTimeBits + shift) == 0;
  }
  static constexpr std::int64_t whole_units(int shift) { return std::int64_t{-1} << shift; }
  constexpr Uint128 counts(int shift) const {
    return bits_ & ((Uint128{1} << (kCountBits + shift)) - 1);
  }

  // The last count, in so many bits. REQUIRES: 0 < bits < 64
  constexpr std::int64_t last_count(int bits) const {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(bits_) & mask);
  }
  // The count before the last: `bits` from bit `from` on. REQUIRES: 16 <= from, from + bits <= 80
  constexpr std::int64_t count_before(int from, int bits) const {
    if (from + bits <= 64) [[likely]] {
      const std::uint64_t upmost = static_cast<std::uint64_t>(bits_) << (-(from + bits) & 63);
      return static_cast<std::int64_t>(upmost >> (-bits & 63));
    }
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    return static_cast<std::int64_t>(word_from(16) >> (from - 16) & mask);
  }

  // Microseconds since the table's base from which the state is surely void. A sliding window is
  // void at the latest two windows after its start, where window < 2^(shift+1) and start < (time +
  // 1) << shift; so at most (time + 5) << shift. Fixed windows and TATs (a fraction after `time`)
  // are void earlier. A claim never expires.
  constexpr std::int64_t expiry_us() const {
    const int shift = code();
    return shift < kPenaltyCode ? time_us(shift) + (std::int64_t{5} << shift) : late_expiry_us();
  }

  // Whether the upper half of a word names this key.
  static constexpr bool high_half_is(std::uint64_t high_half, std::uint64_t fingerprint) {
    return (high_half ^ fingerprint << 16) < 1 << 16;
  }
  // Whether it names this key and its state has this code.
  static constexpr bool high_half_is(std::uint64_t high_half, std::uint64_t fingerprint, int code) {
    return (high_half ^ (fingerprint << 16 | static_cast<std::uint64_t>(code) << 10)) < 1 << 10;
  }

  friend constexpr bool operator==(const SlotWord&, const SlotWord&) = default;

 private:
  static constexpr int kShiftMin = 9;
  static constexpr int kPenaltyCode = 45;
  static constexpr int kClaimCode = 63;

  // A penalty lasts for six windows, each shorter than 4 << shift, or for a cooldown that
  // begins in the first of them: 32 s and less than a grain more.
  constexpr std::int64_t late_expiry_us() const {
    constexpr std::int64_t kCooldownMaxUs = std::int64_t{1} << 25;
    if (claimed()) return INT64_MAX;
    const int shift = penalty_shift(code());
    return time_us(shift) + (std::int64_t{1 + 6 * 4} << shift) + kCooldownMaxUs;
  }

  static constexpr Uint128 head(std::uint64_t fingerprint, int code, Rank rank) {
    const std::uint64_t high = fingerprint << 16 | static_cast<std::uint64_t>(code) << 10 |
                               static_cast<std::uint64_t>(rank) << 8;
    return of_halves(high, 0);
  }
  static constexpr Uint128 of_halves(std::uint64_t high, std::uint64_t low) {
    return static_cast<Uint128>(high) << 64 | low;
  }
  Uint128 bits_ = 0;
};

static_assert(SlotWord::kFingerprintBits + 6 + 2 + SlotWord::kPayloadBits == 128);
static_assert(sizeof(SlotWord) == sizeof(Atomic128));

}  // namespace weir
