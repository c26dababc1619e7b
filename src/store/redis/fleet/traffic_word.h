// The bytes by which nodes tell each other in Redis of their traffic, second by second: TrafficWord
// of one node, TrafficSum of a large fleet.
//
// Thread rule: values. Tested by traffic_word_test.cc and fuzz/packed_fuzz.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/recent_traffic.h"
#include "observe/traffic_window.h"

namespace weir {

// TrafficWord: a node's traffic in one second, as bytes in Redis (base/packed.h).
//
//   '2'   requests, denied, 0                                   in that second
//         denied, n, n x decisions of an algorithm              since the node's start
//         n, n x (hash of the rule, requests, denied, shadow)   in that second
//
// Anybody may have written there. A text is no word if its version is another one, if it is cut off
// or too long, or if its numbers make no sense. So the sums of all nodes cannot overflow.
struct TrafficWord {
  static constexpr std::size_t kRulesMax = 200;
  static constexpr std::size_t kAlgorithmsMax = 32;  // leaves room for other versions
  // No node decides so much in a second, or ever.
  static constexpr std::uint64_t kSecondMax = (std::uint64_t{1} << 28) - 1;
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

// TrafficSum: the counts of all nodes of a large fleet in one second, as one of them has added them
// up. The sum has groups that a hash of the nodes' names chooses, so that a switch of a rule's
// algorithm still has voters (engine/switching/traffic_switch.h).
//
//   '1'   nodes, the first of their names, n, n x a group's TrafficWord, as a text
//
// A text is no sum if one of its words is no word.
struct TrafficSum {
  static constexpr std::size_t kGroups = 8;
  static constexpr std::size_t kGroupsMax = 64;  // leaves room for other versions
  static constexpr std::size_t kNodesMax = 1 << 16;
  static constexpr std::size_t kNameMax = 64;  // bytes
  static constexpr std::size_t kWordMax = 8192;

  std::size_t nodes = 0;
  std::string first{};
  std::vector<TrafficWord> groups{};
};

std::string to_bytes(const TrafficSum& sum);
std::optional<TrafficSum> traffic_sum(std::string_view bytes);

// Makes the TrafficSum of one second.
class TrafficAdder {
 public:
  // Counts a name once, even if it comes again.
  void add(std::string_view name, const TrafficWord& word);
  // A group with more rules than a word takes keeps the busiest.
  TrafficSum sum() const;

 private:
  struct Group {
    TrafficCounts all{};
    TrafficTotals totals{};
    std::unordered_map<std::uint64_t, TrafficCounts> rules{};
  };

  std::set<std::string, std::less<>> names_{};
  std::array<Group, TrafficSum::kGroups> groups_{};
};

}  // namespace weir
