// Traffic: the number of this node's decisions, by kind.
//
// Each core counts in its own CoreTraffic, with plain stores, so nobody waits. A reader (metrics,
// admin pages) adds the cores up. It may see a decision in one figure and not yet in another.
//
// Thread rule: record..() and sample_key() only on the owning core; keep_key_texts() before there
// are threads; summary() and each_denial() from any thread. Tested by traffic_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/own_count.h"
#include "observe/core_slots.h"
#include "observe/denials.h"
#include "observe/rule_counts.h"
#include "observe/traffic_window.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// The sums over all cores. The rates are over the last ten whole seconds.
struct TrafficSummary : TrafficRates {
  std::array<std::uint64_t, kDecidingAlgorithmCount> allowed{};  // indexed by Algorithm
  std::array<std::uint64_t, kDecidingAlgorithmCount> denied{};
  std::uint64_t looks = 0;
  std::uint64_t store_errors = 0;
  std::uint64_t fallbacks = 0;  // decided here because a shared store failed

  std::uint64_t total_allowed() const;
  std::uint64_t total_denied() const;
};

// Plain memory that begins as zeros (core_slots.h). It has its own cache lines, so that no core
// waits for another.
class alignas(64) CoreTraffic {
 public:
  // Records a decided charge, by the algorithm that decided it. A request that a rule in shadow
  // lets pass counts as allowed.
  void record(const Decision& decision, Algorithm algorithm, Instant now) noexcept;
  void record_look() noexcept { looks_.add(); }
  void record_store_error() noexcept { store_errors_.add(); }
  void record_fallback() noexcept { fallbacks_.add(); }
  // Records one answer of a rule. True: the caller should sample_key() this answer's key.
  bool record_rule(RuleNumber rule, RuleOutcome outcome, std::uint64_t key_hash,
                   Instant now) noexcept {
    return rules_.record(rule, outcome, key_hash, now);
  }
  void sample_key(const CoreBusiestKeys::Sample& sample, Instant now) noexcept {
    rules_.sample(sample, now);
  }
  // The answers recorded since the last call took this long.
  void record_latency(Duration elapsed) noexcept { rules_.record_latency(elapsed); }
  // Records one denial, for people who ask later why (denials.h).
  void record_denial(const DenialFacts& facts, const DenialTexts& texts) noexcept {
    if (!facts.is_shadow) rules_.record_denial(facts.rule, facts.key_hash, facts.at);
    denials_.add(facts, texts);
  }

 private:
  friend class Traffic;

  // The requests of one second, for one writer and any readers. Sixteen cover the ten that are
  // summed, with room for a reader that lags behind.
  struct Second {
    std::atomic<std::int64_t> epoch_s{0};  // the second, since 1970; 0: nobody came yet
    OwnCount requests;
    OwnCount denied;

    void begin(std::int64_t second) noexcept;
  };
  static constexpr std::size_t kSeconds = 16;
  static constexpr std::int64_t kNoSecond = std::numeric_limits<std::int64_t>::min();

  // Zeros if nothing is known of that second.
  TrafficCounts counts_of(std::int64_t second) const noexcept;

  std::array<OwnCount, kDecidingAlgorithmCount> allowed_{};
  std::array<OwnCount, kDecidingAlgorithmCount> denied_{};
  OwnCount looks_;
  OwnCount store_errors_;
  OwnCount fallbacks_;
  std::array<Second, kSeconds> seconds_;
  CoreRuleCounts rules_;
  CoreDenials denials_;
};

class Traffic {
 public:
  // In its own memory, or as one of the processes that share `cores` (core_slots.h).
  Traffic() = default;
  Traffic(std::span<CoreTraffic> cores, std::size_t own_first);

  // Cores added from now on keep the texts of the busiest keys and of denied keys, next to their
  // hashes.
  void keep_key_texts() { keeps_key_texts_ = true; }
  bool keeps_key_texts() const { return keeps_key_texts_; }

  // The counters of a new core. They live as long as this object, or as the shared memory.
  CoreTraffic& add_core();

  TrafficSummary summary(Instant now) const;

  // Calls visit(denial) for each remembered denial of the seconds from `first` to `last`, counted
  // from 1970. In no order.
  template <typename Visit>
  void each_denial(std::int64_t first, std::int64_t last, Visit visit) const {
    cores_.each([&](const CoreTraffic& core) { core.denials_.each(first, last, visit); });
  }

  // The second from which on each core still has all denials that it kept.
  std::int64_t denials_since() const {
    auto since = std::numeric_limits<std::int64_t>::min();
    cores_.each(
        [&](const CoreTraffic& core) { since = std::max(since, core.denials_.whole_since()); });
    return since;
  }

  // The figures of single rules.
  RuleCounts& rules() { return rules_; }
  const RuleCounts& rules() const { return rules_; }

 private:
  RuleCounts rules_;
  CoreSlots<CoreTraffic> cores_;
  bool keeps_key_texts_ = false;
};

}  // namespace weir
