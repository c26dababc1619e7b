// KeyReport: how often the busiest keys of a rule came, as far as one summary knows, or several
// together.
//
// A summary (busiest_keys.h) says for each key that it holds how often it came at least and at
// most, and how often any other key came at most. Reports of several minutes, cores and nodes
// add up (Agarwal et al., "Mergeable Summaries", 2012): a key that one of them lacks came there
// between never and that often.
//
//   one    total 100, rest 4    a: 40 to 44
//   other  total  50, rest 1    b: 20 to 20
//   both   total 150, rest 5    a: 40 to 45, b: 20 to 24
//
// Where a core samples, these are counts of the sample, each taken request for those that it
// stands for: least_of() and most_of() add what chance may do.
//
// Thread rule: values. Tested by key_report_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// What makes a key busy.
enum class KeysBy : std::uint8_t {
  kAsked,
  kDenied,  // by counters, blocks and lists; in shadow, would have been
};
inline constexpr std::size_t kKeysByCount = 2;

// Whether anybody may see which key it is; else its hash stands for it.
enum class KeyTexts : std::uint8_t { kHidden, kShown };

struct KeyEstimate {
  std::uint64_t hash = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::string text{};  // empty: not known

  bool operator==(const KeyEstimate&) const = default;
};

struct KeyReport {
  std::uint64_t total = 0;        // of all keys
  std::uint64_t rest = 0;         // how often a key that is not here came at most
  std::uint64_t weight = 1;       // how many requests a sample stands for, at most
  std::vector<KeyEstimate> keys;  // in the order of their hashes, each once

  void add(KeyReport other);
  // Leaves those that came most.
  void keep_busiest(std::size_t most);
  // Those that came most, so many at most: the more often a key came at least, the earlier it
  // stands.
  std::vector<KeyEstimate> ranked(std::size_t most) const;

  bool operator==(const KeyReport&) const = default;
};

// How often a key came, but for one case in a hundred each, if samples that stand for `weight`
// requests at most say `low` at least, or `high` at most. Exactly that where each request is
// taken.
std::uint64_t least_of(std::uint64_t low, std::uint64_t weight);
std::uint64_t most_of(std::uint64_t high, std::uint64_t weight);

// The sixteen digits of a key's hash.
std::string hash_text(std::uint64_t hash);

// The reports of one rule.
struct RuleKeys {
  std::string rule;
  KeyReport asked{};
  KeyReport denied{};

  const KeyReport& by(KeysBy by) const { return by == KeysBy::kAsked ? asked : denied; }
};

// What becomes of one request of a rule, and the number under which a rule counts.
//
// Thread rule: values. Tested by rule_counts_test.cc.
enum class RuleOutcome : std::uint8_t {
  kAllowed,
  kDenied,
  kBlocked,  // denied without being counted
  kShadow,   // would have been denied
};
inline constexpr std::size_t kRuleOutcomeCount = 4;
inline constexpr std::array<std::string_view, kRuleOutcomeCount> kRuleOutcomeNames = {
    "allowed", "denied", "blocked", "shadow"};

using RuleNumber = std::uint32_t;
inline constexpr RuleNumber kNoRuleNumber = std::numeric_limits<RuleNumber>::max();

}  // namespace weir
