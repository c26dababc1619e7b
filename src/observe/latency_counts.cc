#include "observe/latency_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace weir {

LatencyFigures& LatencyFigures::operator+=(const LatencyFigures& other) {
  std::ranges::transform(counts, other.counts, counts.begin(), std::plus());
  return *this;
}

std::uint64_t LatencyFigures::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Duration LatencyFigures::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total())));
  if (wanted == 0) return Duration(0);
  std::uint64_t seen = 0;
  std::size_t i = 0;
  while (i + 1 < kClasses && (seen += counts[i]) < wanted) ++i;
  return Duration(std::int64_t{1} << i);
}

void LatencyCounts::record(Duration elapsed) noexcept {
  // The clock may have stepped back.
  const auto above = static_cast<std::uint64_t>(std::max<std::int64_t>(elapsed.count(), 1) - 1);
  const auto index = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(above)),
                                           LatencyFigures::kClasses - 1);
  counts_[index].add();
}

void LatencyCounts::add_to(LatencyFigures& figures) const noexcept {
  for (std::size_t i = 0; i < figures.counts.size(); ++i) {
    figures.counts[i] += counts_[i].read();
  }
}

}  // namespace weir
