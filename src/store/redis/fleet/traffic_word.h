// What nodes say in Redis of their traffic, second by second, as bytes: TrafficWord of one node,
// TrafficSum of a large fleet.
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

// TrafficWord: what a node says in Redis of its traffic in one second, as bytes (base/packed.h).
//
//   '2'   requests, denied, 0                                   in that second
//         denied, n, n x decisions of an algorithm              since the node's start
//         n, n x (hash of the rule, requests, denied, shadow)   in that second
//
// Anybody may have written there. A text is no word if it is of another version, cut off, too long,
// or its numbers make no sense. So the sums of all nodes cannot overflow.
struct TrafficWord {
  static constexpr std::size_t kRulesMax = 200;
  static constexpr std::size_t kAlgorithmsMax = 32;  // of other versions
  // Nobody decides so much in a second, or ever.
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

// TrafficSum: what all nodes of a large fleet have counted in one second, as one of them has added
// it up. In groups that a hash of their names chooses, so that a switch of an adaptive rule has
// voters still (engine/switching/traffic_switch.h).
//
//   '1'   nodes, the first of their names, n, n x a group's TrafficWord, as a text
//
// A text is no sum if a word in it is none.
struct TrafficSum {
  static constexpr std::size_t kGroups = 8;
  static constexpr std::size_t kGroupsMax = 64;  // of other versions
  static constexpr std::size_t kNodesMax = 1 << 16;
  static constexpr std::size_t kNameMax = 64;  // bytes
  static constexpr std::size_t kWordMax = 8192;

  std::size_t nodes = 0;
  std::string first{};
  std::vector<TrafficWord> groups{};
};

std::string to_bytes(const TrafficSum& sum);
std::optional<TrafficSum> traffic_sum(std::string_view bytes);

// Makes such a sum of one second.
class TrafficAdder {
 public:
  // A name that comes again counts once.
  void add(std::string_view name, const TrafficWord& word);
  // Of a group with more rules than a word takes: the busiest.
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
