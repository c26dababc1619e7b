// The floor: what a sliding window takes at least, written by hand for nothing else.
//
// It hashes the key, looks through two lines of four slots, rolls the window, decides, exchanges
// sixteen bytes, and says what is left and when there is more. It knows no other algorithm, quota,
// thread that takes a slot at the same moment, or key that must make room.

#include <xxhash.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "counted.h"

namespace weir::counted {
namespace {

__extension__ typedef unsigned __int128 Word;

constexpr std::int64_t kLimit = 1'000'000;
constexpr std::int64_t kWindowUs = 60'000'000;
constexpr std::int64_t kNowUs = 1'700'006'400'000'000;
constexpr std::size_t kLines = 1'024;  // a power of two
constexpr std::size_t kSlots = 4;      // of a line

// Fingerprint 48, window's number since 1970 32, two counts of 24 bits.
struct alignas(64) Line {
  Word slots[kSlots];
};

struct Answer {
  bool allowed;
  std::int64_t limit, remaining, reset_us, more_us;
};

class Floor {
 public:
  [[gnu::noinline]] Answer hit(std::string_view key, std::int64_t now_us) noexcept {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(key.data(), key.size(), 1);
    const Word fingerprint = (hash.high64 >> 16) | 1;
    Line* const lines[] = {&lines_[hash.low64 % kLines], &lines_[(hash.low64 >> 32) % kLines]};
    const std::int64_t window = now_us / kWindowUs;
    const std::int64_t elapsed = now_us - window * kWindowUs;
    for (;;) {
      Word* slot = slot_of(lines, fingerprint);
      const Word word = *slot;
      const auto start = static_cast<std::int64_t>(static_cast<std::uint32_t>(word >> 48));
      auto previous = static_cast<std::int64_t>(word >> 24 & 0xffffff);
      auto current = static_cast<std::int64_t>(word & 0xffffff);
      if (start != window) {
        previous = start + 1 == window ? current : 0;
        current = 0;
      }
      const std::int64_t weight =
          previous == 0 ? 0 : (previous * (kWindowUs - elapsed) + kWindowUs - 1) / kWindowUs;
      if (current + weight >= kLimit) return {false, kLimit, 0, 2 * kWindowUs - elapsed, 0};
      ++current;
      const Word next = fingerprint << 80 | static_cast<Word>(window) << 48 |
                        static_cast<Word>(previous) << 24 | static_cast<Word>(current);
      if (!__sync_bool_compare_and_swap(slot, word, next)) continue;
      const std::int64_t remaining = kLimit - current - weight;
      const std::int64_t fading = previous > 0 ? previous : current;
      const std::int64_t left = previous > 0 ? weight - 1 : current - 1;
      const std::int64_t faded = kWindowUs - left * kWindowUs / fading;
      return {true, kLimit, remaining, 2 * kWindowUs - elapsed,
              (previous > 0 ? 0 : kWindowUs) + faded - elapsed};
    }
  }

 private:
  static Word* slot_of(Line* const* lines, Word fingerprint) noexcept {
    Word* free = &lines[0]->slots[0];
    for (int line = 0; line < 2; ++line) {
      for (Word& slot : lines[line]->slots) {
        if (slot >> 80 == fingerprint) return &slot;
        if (slot == 0) free = &slot;
      }
    }
    return free;
  }

  Line lines_[kLines]{};
};

Work floor_work() {
  return [floor = std::make_shared<Floor>(), keys = keys_of(16),
          now_us = kNowUs](std::size_t times) mutable {
    std::int64_t allowed = 0;
    for (std::size_t i = 0; i < times; ++i) {
      allowed += floor->hit(keys[i % kKeys], ++now_us).allowed ? 1 : 0;
    }
    if (allowed != static_cast<std::int64_t>(times)) unexpected("a denial");
  };
}

}  // namespace

std::vector<Row> floor_rows() { return {{"floor: a sliding window by hand", floor_work}}; }

}  // namespace weir::counted
