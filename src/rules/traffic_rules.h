// TrafficRules: which rules apply to a request.
//
// Rules with an exact path are found by a hash of the path; the others are tried one
// by one. So a thousand rules for a thousand paths cost what one costs.
//
// Thread rule: immutable after construction; match() from any thread, no allocation.
// Tested by traffic_rules_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_hash.h"
#include "rules/request.h"
#include "rules/rule.h"

namespace weir {

// Each group gives at most one charge, and a batch holds 16.
inline constexpr std::size_t kGroupsMax = 16;
using MatchedRules = std::array<const Rule*, kGroupsMax>;

class TrafficRules {
 public:
  TrafficRules() = default;

  // Takes those that are enabled and have a `match`. They must outlive this.
  // REQUIRES: at most kGroupsMax groups among them.
  explicit TrafficRules(std::span<const Rule> rules);

  std::span<const Rule*> match(const Request& request, MatchedRules& matched) const;

 private:
  struct Candidate {
    const Rule* rule = nullptr;
    std::uint32_t order = 0;  // in the file
    std::uint32_t group = 0;
  };
  using Candidates = std::vector<Candidate>;

  std::unordered_map<std::string, Candidates, TextHash, std::equal_to<>> by_path_;
  Candidates others_;
};

}  // namespace weir
