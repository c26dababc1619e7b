// Histogram: durations, to 1 % at any scale, in a fixed 36 KB.
//
// Log-linear buckets, as in HdrHistogram: up to 256 ns each nanosecond has its own. From there each
// doubling is cut into 128 equal buckets, so a bucket is never wider than 1/128 (0.8 %) of what it
// holds. Recording is a shift and an increment, about 2 ns: cheap enough to time every request
// instead of a sample.
//
// Thread rule: one owner; merge() after the threads have ended.
// Tested by histogram_test.cc.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::load {

using Nanoseconds = std::chrono::nanoseconds;

class Histogram {
 public:
  // Longer times count as this one: 2^42 ns, 73 minutes.
  static constexpr Nanoseconds kMax{(std::int64_t{1} << 42) - 1};

  Histogram();

  // A negative time counts as 0.
  void record(Nanoseconds elapsed) noexcept;
  void merge(const Histogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  Nanoseconds max() const noexcept { return max_; }  // exact, 0 when empty

  // The duration that `quantile` of all recorded ones did not exceed: the upper end of its bucket,
  // but never above max(). Errs by at most 0.8 %, always upward. 0 when empty.
  // REQUIRES: 0 < quantile <= 1
  Nanoseconds at(double quantile) const noexcept;

 private:
  static std::size_t bucket_of(std::uint64_t elapsed_ns) noexcept;
  static std::uint64_t bucket_end(std::size_t bucket) noexcept;  // its largest value

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  Nanoseconds max_{0};
};

}  // namespace weir::load
