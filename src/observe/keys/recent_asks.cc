#include "observe/keys/recent_asks.h"

#include <algorithm>
#include <numeric>

namespace weir {
namespace {

constexpr std::size_t kParts = 8;  // of a ring: after each, the shift is set again
constexpr Duration kPartSpan = RecentAsks::kSpan / kParts;
constexpr Duration kSlow = 4 * kPartSpan;
constexpr std::uint8_t kShiftMax = 40;
// In one part. So a burst loses few keys, and 4,096 times the traffic fills at most 6 parts of 8.
constexpr std::uint8_t kRiseMax = 2;

constexpr std::uint64_t low_bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

}  // namespace

CoreRecentAsks::CoreRecentAsks(std::size_t bytes, Instant now)
    : slow_from_(now + kSlow), ring_(std::min(bytes, kBytesMax) / sizeof(Entry)) {
  part_ends_ = ring_.size() / kParts;
}

// A reader notices asks that were left out: the next kept ask, or else the ring, has their shift.
void CoreRecentAsks::set_shift(Instant now) noexcept {
  const Duration took = std::max(now - (slow_from_ - kSlow), Duration{1});
  std::uint8_t shift = shift_.load(kRelaxed);
  if (took > kSlow) {
    if (shift > 0) --shift;
  } else {
    const auto most = std::min<std::uint8_t>(shift + kRiseMax, kShiftMax);
    for (Duration lasts = took; lasts < kPartSpan && shift < most; lasts *= 2) ++shift;
  }
  shift_.store(shift, kRelaxed);
  mask_ = low_bits(shift);
  part_ends_ = written_.load(kRelaxed) + ring_.size() / kParts;
  slow_from_ = now + kSlow;
}

RecentAsks::RecentAsks(std::size_t bytes, std::size_t cores, Instant now, const KeyHasher* hasher)
    : began_(now), hasher_(hasher) {
  for (std::size_t i = 0; i < cores; ++i) cores_.emplace_back(bytes / cores, now);
}

RecentAsks::Found RecentAsks::of(RuleNumber rule, Instant from, std::size_t most,
                                 Instant now) const {
  Found found{.asks = {}, .since = began_};
  std::array<std::size_t, 65> by_zeros{};  // asks whose keys end in that many zero bits
  for (const CoreRecentAsks& core : cores_) {
    found.shift = std::max<unsigned>(found.shift, core.shift_.load(CoreRecentAsks::kRelaxed));
    core.each([&](const RecentAsk& ask, bool) {
      if (ask.at >= from) found.shift = std::max<unsigned>(found.shift, ask.shift);
      if (ask.rule == rule) ++by_zeros[static_cast<std::size_t>(std::countr_zero(ask.key))];
    });
  }
  auto count = std::accumulate(by_zeros.begin() + found.shift, by_zeros.end(), std::size_t{0});
  for (; count > most && found.shift < kShiftMax; ++found.shift) count -= by_zeros[found.shift];
  found.asks.reserve(count);
  for (const CoreRecentAsks& core : cores_) {
    core.each([&](const RecentAsk& ask, bool are_lost) {
      if (are_lost || ask.shift > found.shift) found.since = std::max(found.since, ask.at);
      const bool is_wanted = ask.rule == rule && ask.at <= now;
      if (is_wanted && (ask.key & low_bits(found.shift)) == 0) found.asks.push_back(ask);
    });
  }
  found.are_all = found.since == began_;
  if (!found.are_all) {
    std::erase_if(found.asks, [&](const RecentAsk& ask) { return ask.at <= found.since; });
  }
  std::ranges::stable_sort(found.asks, {}, &RecentAsk::at);
  return found;
}

}  // namespace weir
