// DetailedCounts: answers of rules with detailed metrics, counted by the values in the requests.
// For limits with few, known values, such as a list of paths.
//
// Clients choose the values, so memory is bounded: after kSeriesMax different values, all others
// are counted as one. A byte that is not visible ASCII becomes a '?'.
//
// Thread rule: any thread; each call takes a lock, and only rules with detailed metrics call.
// Tested by detailed_counts_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

class DetailedCounts {
 public:
  static constexpr std::size_t kSeriesMax = 1'000;
  static constexpr std::size_t kValuesMax = 256;  // bytes; the rest is cut off
  static constexpr std::string_view kOthers = "(others)";

  enum class Outcome : std::uint8_t { kWithinLimit, kOverLimit };

  struct Series {
    std::string rule;
    std::string values;
    std::uint64_t within_limit = 0;
    std::uint64_t over_limit = 0;
  };

  void record(std::string_view rule, std::string_view values, Outcome outcome);

  // Sorted by rule and values.
  std::vector<Series> all() const;

 private:
  struct Counts {
    std::uint64_t within_limit = 0;
    std::uint64_t over_limit = 0;
  };

  mutable std::mutex mutex_;  // guards series_
  std::map<std::pair<std::string, std::string>, Counts> series_;
};

}  // namespace weir
