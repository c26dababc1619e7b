#include "load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"

namespace weir::load {
namespace {

constexpr int kSubBits = 7;  // 128 buckets a doubling
constexpr std::size_t kSubBuckets = std::size_t{1} << kSubBits;
constexpr int kMaxBits = 42;
// Two times kSubBuckets exact ones, then kSubBuckets for each further bit.
constexpr std::size_t kBuckets = (kMaxBits - kSubBits + 1) * kSubBuckets;

}  // namespace

Histogram::Histogram() : counts_(kBuckets) {}

void Histogram::record(Nanoseconds elapsed) noexcept {
  const Nanoseconds bounded = std::clamp(elapsed, Nanoseconds{0}, kMax);
  ++counts_[bucket_of(static_cast<std::uint64_t>(bounded.count()))];
  ++count_;
  max_ = std::max(max_, bounded);
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    counts_[bucket] += other.counts_[bucket];
  }
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

Nanoseconds Histogram::at(double quantile) const noexcept {
  WEIR_ASSERT(quantile > 0 && quantile <= 1);
  const auto wanted = std::max(1.0, std::ceil(quantile * static_cast<double>(count_)));
  double seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += static_cast<double>(counts_[bucket]);
    if (seen >= wanted) {
      const Nanoseconds end{static_cast<std::int64_t>(bucket_end(bucket))};
      return std::min(end, max_);
    }
  }
  return max_;
}

// The top 8 bits of a number above 255 say which of its doubling's 128 buckets.
std::size_t Histogram::bucket_of(std::uint64_t elapsed_ns) noexcept {
  const int shift = std::max(0, static_cast<int>(std::bit_width(elapsed_ns)) - kSubBits - 1);
  return static_cast<std::size_t>(shift) * kSubBuckets + (elapsed_ns >> shift);
}

std::uint64_t Histogram::bucket_end(std::size_t bucket) noexcept {
  if (bucket < 2 * kSubBuckets) return bucket;
  const std::size_t shift = bucket / kSubBuckets - 1;
  const std::uint64_t top = bucket % kSubBuckets + kSubBuckets;
  return ((top + 1) << shift) - 1;
}

}  // namespace weir::load
