// Busiest keys: the keys of a rule that requests ask for most lately, and the keys that Weir denies
// most, in memory that does not grow.
//
// For each rule and minute a core keeps two summaries: of asked keys and of denied keys. They use
// Space-Saving. (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k
// Elements in Data Streams", ICDT 2005.) A summary has kKeys counters. A key with a counter counts
// there. Another key takes over the least counter and goes on from its count, which is then the
// key's error. So of N requests, in any order:
//
//   count - error <= how often the key came <= count,     error <= N / kKeys
//
// and each key that came more than N / kKeys times has a counter.
//
// A core samples, so that most requests only pay for a countdown. While a rule has few requests a
// second, each is sampled. With more, chance samples one of 2, 4, .. 256, which stands for that
// many. Gaps are drawn from the geometric distribution, so each request has the same chance,
// whatever came before it. key_report.h says how chance changes a count.
//
//                 requests a second    64       1,000      16,000    1,000,000
//                 a sample stands for   1    16 to 32         256          256
//
// Summaries cover this minute and the one before it. A core keeps those of kRules rules. Another
// rule may take over those of the least busy rule. The chance is the weight of its sample over that
// rule's requests. (Ben Basat et al., "Randomized Admission Policy", 2017.) So rules that come once
// do not push out busy ones.
//
// Plain memory that begins as zeros (core_slots.h).
//
// Thread rule: add() and keep_texts() on the owning core; report() and each_rule() from any thread.
// A reader may miss what is being written: a counter that changes its key, a minute or a rule that
// begins. It never takes one key's count for another's, except for the least counts.
// Tested by busiest_keys_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/own_count.h"
#include "base/prng.h"
#include "observe/keys/key_report.h"
#include "weir/time.h"

namespace weir {

// The number of samples in this second, and how many requests a sample stands for.
class SamplePace {
 public:
  static constexpr unsigned kShiftMax = 8;  // one of 256

  // Counts a sample. While more than `most` samples come in a second, each stands for twice as many
  // requests; after each second with less than half of `most`, for half as many. Returns the number
  // of requests, as a power of two.
  unsigned next(std::uint32_t second, std::uint32_t most) noexcept;

 private:
  std::uint32_t second_ = 0;
  std::uint16_t samples_ = 0;
  std::uint8_t shift_ = 0;
};

// Chooses which requests of a rule are sampled, and where they go.
class KeySampler {
 public:
  // Counts a request. True: the caller samples it.
  bool takes_next() noexcept { return --left_ < 0; }

 private:
  friend class CoreBusiestKeys;

  std::int32_t left_ = 0;    // requests before the next sample
  std::uint8_t shift_ = 0;   // the next sample stands for 2^shift_ requests
  std::uint16_t index_ = 0;  // the rule's, among the core's rules
  SamplePace pace_;
};

// The first bytes of a key.
class KeyText {
 public:
  static constexpr std::size_t kBytesMax = 64;

  void write(std::uint64_t hash, std::string_view text) noexcept;
  // Adds the text to its key in the report, if the report has the key.
  void name_in(KeyReport& report) const;

 private:
  static constexpr std::size_t kWords = kBytesMax / sizeof(std::uint64_t);

  std::atomic<std::uint64_t> hash_{0};
  std::atomic<std::uint64_t> size_{0};
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

// Space-Saving. One core writes, any thread reads.
class KeySummary {
 public:
  static constexpr std::size_t kKeys = 64;

  // The key came `weight` times more. Returns the index of its counter.
  std::size_t add(std::uint64_t hash, std::uint64_t weight) noexcept;
  void clear() noexcept;

  std::uint64_t total() const noexcept { return total_.read(); }
  KeyReport report() const;

 private:
  struct Counter {
    std::atomic<std::uint64_t> hash{0};  // 0: it has no key
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> error{0};

    void take_over(std::uint64_t new_hash, std::uint64_t weight) noexcept;
    // Nothing while the counter changes its key.
    std::optional<KeyEstimate> read() const noexcept;
  };
  using Counters = std::array<Counter, kKeys>;

  Counters::iterator least() noexcept;

  OwnCount total_;
  std::atomic<std::uint64_t> weight_{0};  // the largest weight of a sample
  Counters counters_;
};

class CoreBusiestKeys {
 public:
  static constexpr std::size_t kRules = 256;
  static constexpr Duration kPeriod = std::chrono::minutes(1);
  // The most samples that a core takes in a second: for a rule, and for all rules, so that ten
  // thousand rules cost no more than one.
  static constexpr std::uint32_t kRuleSamplesMax = 64;
  static constexpr std::uint32_t kSamplesMax = 1'024;

  // From now on samples also keep the texts of keys.
  void keep_texts() noexcept { keeps_texts_.store(1, std::memory_order_relaxed); }

  struct Sample {
    RuleNumber rule;
    RuleOutcome outcome;
    std::uint64_t hash;  // of the key
    std::string_view key;
  };
  // REQUIRES: `sampler` is the rule's on this core, and told the caller to sample
  void add(const Sample& sample, KeySampler& sampler, Instant now) noexcept;

  // Reports the rule's keys in this minute and the one before it.
  KeyReport report(RuleNumber rule, KeysBy by, Instant now) const;

  // Calls visit(rule, how often requests asked for its keys) for each rule with requests.
  template <typename Visit>
  void each_rule(Instant now, Visit visit) const {
    for (const RuleKeys& keys : rules_) {
      const std::uint32_t owner = keys.owner.load(std::memory_order_acquire);
      if (owner == 0) continue;
      const std::uint64_t asked = keys.asked_since(period_of(now) - 1);
      if (asked > 0) visit(RuleNumber{owner - 1}, asked);
    }
  }

 private:
  static constexpr std::int64_t kNoPeriod = std::numeric_limits<std::int64_t>::min();

  struct Window {
    std::atomic<std::int64_t> number{0};  // of the minute, since 1970; 0: no key yet
    std::array<KeySummary, kKeysByCount> summaries;

    void begin(std::int64_t new_number) noexcept;
  };

  struct RuleKeys {
    std::atomic<std::uint32_t> owner{0};  // the rule's number plus 1; 0: free
    std::array<Window, 2> windows;

    std::uint64_t asked_since(std::int64_t period) const noexcept;
    void give_to(RuleNumber rule) noexcept;
  };

  using Texts = std::array<std::array<std::array<KeyText, KeySummary::kKeys>, kKeysByCount>, 2>;

  static std::int64_t period_of(Instant now) noexcept;

  RuleKeys* keys_of(const Sample& sample, KeySampler& sampler, std::int64_t period,
                    Prng& random) noexcept;
  void count(RuleKeys& keys, const Sample& sample, std::uint64_t weight,
             std::int64_t period) noexcept;
  KeyReport report_of(const RuleKeys& keys, std::size_t window, KeysBy by) const;

  std::atomic<std::uint32_t> keeps_texts_{0};
  std::uint64_t chance_ = 0;  // the generator's state
  SamplePace pace_;
  std::array<RuleKeys, kRules> rules_;
  std::array<Texts, kRules> texts_;  // apart from the rest: takes no memory unless texts are kept
};

}  // namespace weir
