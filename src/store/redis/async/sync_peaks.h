// SyncPeaks: the peaks of one core's latest syncs: the most units that a key got within a period,
// by the key's limit, and the longest trip.
//
// Thread rule: one thread, or a value. Tested by tests/redis/over_now_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// The largest value of the last `seconds`, perhaps of up to twice as long.
template <typename T, int seconds>
class RecentMost {
 public:
  void note(T value, Instant now) {
    if (now - turned_at_ >= kSpan) {
      before_ = of(now) == T{} ? T{} : latest_;
      latest_ = T{};
      turned_at_ = now;
    }
    latest_ = std::max(latest_, value);
  }
  T of(Instant now) const {
    return now - turned_at_ >= 2 * kSpan ? T{} : std::max(latest_, before_);
  }

 private:
  static constexpr Duration kSpan = std::chrono::seconds(seconds);

  T latest_{};
  T before_{};
  Instant turned_at_{};
};

class SyncPeaks {
 public:
  void note_trip(Duration trip, Instant now) { trip_.note(trip, now); }
  Duration trip(Instant now) const { return trip_.of(now); }

  void note_units(const Quota& quota, std::int64_t units, Instant now) {
    Peak* place = std::ranges::find_if(peaks_, [&](const Peak& peak) { return peak.is(quota); });
    if (place == peaks_.end()) {
      place = std::ranges::find_if(peaks_, [&](const Peak& one) { return one.units.of(now) == 0; });
      if (place == peaks_.end()) return;
      *place = {.limit = quota.limit(), .window = quota.window()};
    }
    place->units.note(units, now);
  }
  // nullopt: no key of this limit came, or keys of too many other limits did.
  std::optional<std::int64_t> units(const Quota& quota, Instant now) const {
    const Peak* const place =
        std::ranges::find_if(peaks_, [&](const Peak& peak) { return peak.is(quota); });
    const std::int64_t units = place == peaks_.end() ? 0 : place->units.of(now);
    return units > 0 ? std::optional(units) : std::nullopt;
  }

 private:
  static constexpr std::size_t kLimitsMax = 32;
  struct Peak {
    bool is(const Quota& quota) const { return limit == quota.limit() && window == quota.window(); }
    std::int64_t limit = 0;
    Duration window{0};
    RecentMost<std::int64_t, 10> units{};
  };

  std::array<Peak, kLimitsMax> peaks_{};
  RecentMost<Duration, 10> trip_;
};

}  // namespace weir
