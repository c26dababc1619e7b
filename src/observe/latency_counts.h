// LatencyCounts: counts durations in classes that double, for one writer and any readers.
// LatencyFigures: the sum of several.
//
// Thread rule: record() on the owning core; add_to() from any thread.
// Tested by latency_counts_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/own_count.h"
#include "weir/time.h"

namespace weir {

struct LatencyFigures {
  // Class i holds durations up to 2^i microseconds; the last class holds all that are longer
  // than about half a second.
  static constexpr std::size_t kClasses = 20;

  std::array<std::uint64_t, kClasses> counts{};

  LatencyFigures& operator+=(const LatencyFigures& other);

  std::uint64_t total() const;
  // The duration that `share` of all (0 to 1) did not exceed. It is the upper bound of a class, so
  // up to twice the true duration. Zero if nothing was recorded.
  Duration quantile(double share) const;
};

class LatencyCounts {
 public:
  void record(Duration elapsed) noexcept;
  void add_to(LatencyFigures& figures) const noexcept;

 private:
  std::array<OwnCount, LatencyFigures::kClasses> counts_{};
};

}  // namespace weir
