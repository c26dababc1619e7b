// KeyReport: how often the busiest keys of a rule came, as known by one summary or by several
// together.
//
// A summary (busiest_keys.h) gives for each of its keys how often it came at least and at most, and
// how often any other key came at most. Reports of several minutes, cores and nodes add up (Agarwal
// et al., "Mergeable Summaries", 2012). A key that one report lacks came there between 0 and that
// many times.
//
//   one    total 100, rest 4    a: 40 to 44
//   other  total  50, rest 1    b: 20 to 20
//   both   total 150, rest 5    a: 40 to 45, b: 20 to 24
//
// If a core samples, these are counts of the sample: each sampled request counts as many times as
// it stands for. least_of() and most_of() add what chance may do.
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

// Why a key is busy.
enum class KeysBy : std::uint8_t {
  kAsked,
  kDenied,  // by counters, blocks and lists; in shadow, too
};
inline constexpr std::size_t kKeysByCount = 2;

// Whether people may see which key it is; else they see its hash.
enum class KeyTexts : std::uint8_t { kHidden, kShown };

struct KeyEstimate {
  std::uint64_t hash = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::string text{};  // empty: unknown

  bool operator==(const KeyEstimate&) const = default;
};

struct KeyReport {
  std::uint64_t total = 0;        // of all keys
  std::uint64_t rest = 0;         // the most that any key outside of `keys` came
  std::uint64_t weight = 1;       // the most requests that a sample stands for
  std::vector<KeyEstimate> keys;  // sorted by hash, each key once

  void add(KeyReport other);
  // Keeps only the keys that came most.
  void keep_busiest(std::size_t most);
  // At most `most` keys, those that came most: sorted by how often a key came at least.
  std::vector<KeyEstimate> ranked(std::size_t most) const;

  bool operator==(const KeyReport&) const = default;
};

// The least and the most that a key came, if its samples say at least `low` or at most `high`. A
// sample stands for at most `weight` requests. Each is wrong in one case of 100; exact at weight 1.
std::uint64_t least_of(std::uint64_t low, std::uint64_t weight);
std::uint64_t most_of(std::uint64_t high, std::uint64_t weight);

// The sixteen digits of a key's hash.
std::string hash_text(std::uint64_t hash);

// Both reports of one rule.
struct RuleKeys {
  std::string rule;
  KeyReport asked{};
  KeyReport denied{};

  const KeyReport& by(KeysBy by) const { return by == KeysBy::kAsked ? asked : denied; }
};

// The outcome of one request of a rule, and the number under which a rule counts.
//
// Thread rule: values. Tested by rule_counts_test.cc.
enum class RuleOutcome : std::uint8_t {
  kAllowed,
  kDenied,
  kBlocked,  // denied by a block, without being counted
  kShadow,   // would have been denied
};
inline constexpr std::size_t kRuleOutcomeCount = 4;
inline constexpr std::array<std::string_view, kRuleOutcomeCount> kRuleOutcomeNames = {
    "allowed", "denied", "blocked", "shadow"};

using RuleNumber = std::uint32_t;
inline constexpr RuleNumber kNoRuleNumber = std::numeric_limits<RuleNumber>::max();

}  // namespace weir
