// TrafficRules: finds the rules that apply to a request.
//
// Rules for certain paths are found by the path: exact ones by a hash, beginnings ("/api/*") by a
// search among all beginnings, expressions in one pass for all. So ten thousand rules for as many
// paths cost little more than one. All other rules, and paths with a '*' elsewhere, are tried one
// by one. Rules whose paths ignore case, or a slash at the end, have a separate index, in small
// letters and of folders.
//
// Thread rule: immutable after construction; match() from any thread, with its own memory for the
// result. No allocation, except in path_regexes.h. Tested by traffic_rules_test.cc.

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
#include "rules/request/request.h"
#include "rules/rule.h"
#include "rules/text/path_regexes.h"
#include "weir/time.h"

namespace weir {

// Each group gives at most one charge, and a batch holds 16.
inline constexpr std::size_t kGroupsMax = 16;
using MatchedRules = std::array<const Rule*, kGroupsMax>;

class TrafficRules {
 public:
  TrafficRules() = default;

  // Takes the rules that are enabled and have a `match`, and numbers their expressions. They must
  // outlive this. REQUIRES: at most kGroupsMax groups among them.
  explicit TrafficRules(std::span<Rule> rules);

  // `regexes` is memory; it is reused.
  std::span<const Rule*> match(const Request& request, MatchedRules& matched,
                               std::vector<int>& regexes, Instant now) const;

 private:
  // Without default values: room for each group is only written when it is used.
  struct Candidate {
    const Rule* rule;
    std::uint32_t order;  // in the file
    std::uint16_t group;
    bool has_conditions;
  };
  using Candidates = std::vector<Candidate>;  // ascending
  class Search;

  // The rules that may match a path: all that do, and some more.
  class PathIndex {
   public:
    void add_path(const std::string& path, const Candidate& candidate);
    void add_prefix(std::string prefix, const Candidate& candidate);
    void link_prefixes();  // call it when all are added
    bool empty() const { return by_path_.empty() && by_prefix_.empty(); }

    void look(std::string_view path, Search& search) const;

   private:
    // Beginnings of paths, in the order of their texts. The beginnings of a path are the last one
    // not above it, and the beginnings of that one.
    struct Prefix {
      std::string text;
      std::uint64_t head = 0;  // of `text`
      Candidates candidates{};
      std::ptrdiff_t shorter = -1;  // the longest other beginning of `text`; -1: none
    };

    std::unordered_map<std::string, Candidates, TextHash, std::equal_to<>> by_path_;
    std::vector<Prefix> by_prefix_;
  };

  void index(const Candidate& candidate);
  void index_by_path(const Candidate& candidate);

  PathRegexes regexes_;
  PathIndex paths_;
  PathIndex folders_;                 // of loose matches
  std::vector<Candidates> by_regex_;  // parallel to regexes_
  Candidates others_;
  std::size_t groups_ = 0;
  std::vector<const Rule*> always_;  // the rules that apply, if all requests have the same
};

}  // namespace weir
