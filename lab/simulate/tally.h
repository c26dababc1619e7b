// Tally: a simulation's counts for its report.
//
// Thread rule: a value. Tested by simulate_test.cc.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "weir/time.h"

namespace weir::sim {

// Durations by their number of bits and two more: an eighth off at most.
class Quantiles {
 public:
  void add(Duration time) {
    ++counts_[place_of(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count())))];
    ++sum_;
  }
  // REQUIRES: 0 <= share <= 1
  Duration at(double share) const {
    auto left = static_cast<std::uint64_t>(share * static_cast<double>(sum_));
    for (std::size_t place = 0; place < counts_.size(); ++place) {
      if (counts_[place] > left) return Duration(static_cast<std::int64_t>(value_of(place)));
      left -= counts_[place];
    }
    return Duration(0);
  }

 private:
  static std::size_t place_of(std::uint64_t value) {
    if (value < 8) return value;
    const auto bits = static_cast<std::size_t>(std::bit_width(value)) - 3;
    return bits * 4 + (value >> bits);
  }
  static std::uint64_t value_of(std::size_t place) {
    if (place < 8) return place;
    const std::size_t bits = place / 4 - 1;
    return (place - bits * 4) << bits;
  }
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(256);
  std::uint64_t sum_ = 0;
};

struct RuleFigures {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t alone = 0;   // allowed or denied while the store had failed
  std::uint64_t failed = 0;  // no answer at all
  std::uint64_t over = 0;    // units above an exact count of all nodes
  std::uint64_t under = 0;   // denials that an exact count of all nodes would have allowed
};

struct Tally {
  std::vector<RuleFigures> rules{};
  std::uint64_t requests = 0;
  std::uint64_t late = 0;  // not answered at once
  Quantiles latency{};     // of late answers

  std::uint64_t decisions() const {
    std::uint64_t sum = 0;
    for (const RuleFigures& rule : rules) sum += rule.allowed + rule.denied + rule.failed;
    return sum;
  }
};

}  // namespace weir::sim
