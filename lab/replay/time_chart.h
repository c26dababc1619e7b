// TimeChart: counts over time, in at most kBuckets steps, whose length doubles as the log goes on.
//
// Thread rule: one thread. Tested by time_chart_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/time.h"

namespace weir::lab {

class TimeChart {
 public:
  static constexpr std::size_t kBuckets = 120;
  using Counts = std::array<std::uint64_t, kBuckets>;

  TimeChart(std::size_t series, Instant begin) : begin_(begin), series_(series) {}

  // REQUIRES: `now` is no earlier than the beginning
  void add(std::size_t series, Instant now) {
    if (now < bucket_begin_ || now - bucket_begin_ >= step_) find_bucket(now);
    ++series_[series][bucket_];
  }

  Instant begin() const { return begin_; }
  Duration step() const { return step_; }
  std::size_t used() const { return used_; }
  const Counts& counts(std::size_t series) const { return series_[series]; }

 private:
  void find_bucket(Instant now) {
    while (now - begin_ >= step_ * kBuckets) halve();
    bucket_ = static_cast<std::size_t>((now - begin_) / step_);
    bucket_begin_ = begin_ + step_ * static_cast<std::int64_t>(bucket_);
    used_ = std::max(used_, bucket_ + 1);
  }
  void halve() {
    for (Counts& counts : series_) {
      for (std::size_t i = 0; i < kBuckets; ++i) {
        counts[i] = 2 * i < kBuckets ? counts[2 * i] + counts[2 * i + 1] : 0;
      }
    }
    step_ *= 2;
    used_ = (used_ + 1) / 2;
  }

  const Instant begin_;
  Duration step_ = std::chrono::seconds(1);
  std::size_t used_ = 0;    // buckets, up to the last request
  std::size_t bucket_ = 0;  // the last
  Instant bucket_begin_ = Instant::max();
  std::vector<Counts> series_;
};

}  // namespace weir::lab
