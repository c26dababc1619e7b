// TrafficWord: what a node says in Redis of its traffic in one second, as bytes (base/packed.h).
//
//   '1'   requests, denied                              in that second
//         denied, n, n x decisions of an algorithm      since the node's start
//         n, n x (hash of the rule, requests, denied)   in that second
//
// What anybody may have written there is no word if it is of another version, cut off, too long,
// or its numbers make no sense; so the sums of all nodes cannot overflow.
//
// Thread rule: pure. Tested by traffic_word_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/traffic_window.h"

namespace weir {

struct TrafficWord {
  static constexpr std::size_t kRulesMax = 200;
  static constexpr std::size_t kAlgorithmsMax = 32;  // of other versions
  // Nobody decides so much in a second, or ever.
  static constexpr std::uint64_t kSecondMax = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kTotalMax = std::uint64_t{1} << 50;

  struct Rule {
    std::uint64_t hash = 0;  // rule_hash()
    TrafficCounts counts{};
    friend bool operator==(const Rule&, const Rule&) = default;
  };

  TrafficCounts all{};
  TrafficTotals totals{};
  std::vector<Rule> rules{};  // REQUIRES: kRulesMax at most
};

std::string to_bytes(const TrafficWord& word);
std::optional<TrafficWord> traffic_word(std::string_view bytes);

}  // namespace weir
