// RuleCounts: each rule's answers since the start, how long they took, and the rule's recent keys:
// about how many, and the busiest (keys/busiest_keys.h).
//
// An id keeps its number as long as the process lives. A rule counts under that number, so a new
// rule set goes on with the figures, and recording looks up nothing. Each core counts in its own
// memory; a reader adds the cores up. Beyond kRulesMax different ids, rules are not counted. The
// numbers are not stored with the counts: processes that share counts must number the same ids in
// the same order.
//
// The event loop knows how long an answer took when it is about to write it, together with all
// answers that arrived with it. Until then the rules wait in a short list, so the clock is not read
// for each. If more than kTimedMax answers arrive together, only the first kTimedMax are timed.
//
// Thread rule: record(), sample() and record_latency() on the owning core; the rest from any
// thread.
// Tested by rule_counts_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/own_count.h"
#include "base/text_hash.h"
#include "observe/key_sketch.h"
#include "observe/keys/busiest_keys.h"
#include "observe/keys/key_report.h"
#include "observe/latency_counts.h"
#include "weir/time.h"

namespace weir {

// A rule's name among nodes, whose numbers differ: FNV-1a of its id. It is the same on every
// machine and in every version.
std::uint64_t rule_hash(std::string_view id);

// Indexed by RuleOutcome.
using RuleFigures = std::array<std::uint64_t, kRuleOutcomeCount>;

// Plain memory that begins as zeros (core_slots.h): 32 MB of addresses. Only pages that have counts
// take memory.
class CoreRuleCounts {
 public:
  static constexpr std::size_t kRulesMax = 32'768;

  // `key_hash`: of the answered key. Does nothing for kNoRuleNumber. True: the caller should
  // sample() this answer's key.
  bool record(RuleNumber rule, RuleOutcome outcome, std::uint64_t key_hash, Instant now) noexcept;
  // That answer was a denial, not in shadow.
  void record_denial(RuleNumber rule, std::uint64_t key_hash, Instant now) noexcept {
    if (rule != kNoRuleNumber) rules_[rule].denied_keys.add(key_hash, now);
  }
  // REQUIRES: record() returned true
  void sample(const CoreBusiestKeys::Sample& sample, Instant now) noexcept {
    busiest_.add(sample, rules_[sample.rule].sampler, now);
  }
  // From now on samples also keep the texts of keys.
  void keep_texts() noexcept { busiest_.keep_texts(); }

  // The answers recorded since the last call took this long.
  void record_latency(Duration elapsed) noexcept;

 private:
  friend class RuleCounts;
  static constexpr std::size_t kTimedMax = 16;

  // On its own cache lines. The size is a power of two, so it is found without a multiplication.
  struct alignas(64) Counts {
    std::array<OwnCount, kRuleOutcomeCount> outcomes{};
    KeySampler sampler;
    KeySketch keys;
    KeySketch denied_keys;
    LatencyCounts latency;
  };

  std::array<RuleNumber, kTimedMax> timed_{};  // recorded, but not answered yet
  std::size_t timed_count_ = 0;
  std::array<Counts, kRulesMax> rules_{};
  CoreBusiestKeys busiest_;
};

class RuleCounts {
 public:
  static constexpr std::size_t kRulesMax = CoreRuleCounts::kRulesMax;

  // Adds this core to the figures. The core must outlive this.
  void add_core(const CoreRuleCounts& core);

  // The number of an id: the same at every call. kNoRuleNumber if there are too many ids.
  RuleNumber number_of(std::string_view id);

  // The id with this number; empty if there is none.
  std::string id_of(RuleNumber rule) const;

  // rule_hash() of the id with a number, and the reverse; kNoRuleNumber if no id has the hash.
  std::uint64_t hash_of(RuleNumber rule) const;
  RuleNumber number_with(std::uint64_t hash) const;

  // The sums over all cores; zeros for kNoRuleNumber.
  RuleFigures figures(RuleNumber rule) const;
  // The figures of all numbers, in their order: faster than one by one.
  std::vector<RuleFigures> all_figures() const;
  LatencyFigures latency(RuleNumber rule) const;

  // The number of different keys in this minute and the one before, estimated (key_sketch.h).
  std::uint64_t keys(RuleNumber rule, Instant now) const;
  // Adds these keys to others, for callers that count over a longer time; and the denied ones.
  struct KeysSeen {
    KeySketch::Registers all{};
    KeySketch::Registers denied{};
  };
  void add_keys(RuleNumber rule, KeysSeen& seen, Instant now) const;

  // The rule's busiest keys in the same time, as known to all cores together.
  KeyReport busiest_keys(RuleNumber rule, KeysBy by, Instant now) const;

  // The rules with the most requests in that time, each with its busiest keys.
  struct Most {
    std::size_t rules;
    std::size_t keys;
  };
  std::vector<RuleKeys> busiest_rules(const Most& most, Instant now) const;

 private:
  KeyReport sum_of(RuleNumber rule, KeysBy by, Instant now) const;

  mutable std::mutex mutex_;  // guards all below, but not the counts
  std::vector<const CoreRuleCounts*> cores_;
  std::unordered_map<std::string, RuleNumber, TextHash, std::equal_to<>> numbers_;
  std::vector<const std::string*> ids_;  // by number
  std::vector<std::uint64_t> hashes_;    // by number
  std::unordered_map<std::uint64_t, RuleNumber> by_hash_;
};

}  // namespace weir
