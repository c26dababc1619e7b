// Busiest keys: which keys of a rule requests ask for most of late, and which Weir denies most, in
// memory that does not grow.
//
// For each rule and minute a core keeps two summaries, of what is asked and of what is denied. They
// are made by Space-Saving. (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and
// Top-k Elements in Data Streams", ICDT 2005.) A summary has kKeys counters. A key that has one
// counts there; another key takes over the counter that is least, and goes on from its count, which
// from then on is the key's error. So of N requests, in whatever order they come:
//
//   count - error <= how often the key came <= count,     error <= N / kKeys
//
// and each key that came more than N / kKeys times is there.
//
// A core samples, so that a request pays for a countdown and no more. While a rule has few
// requests a second, each is taken. With more, one of 2, 4, .. 256 is, by chance, and stands for
// that many; gaps are drawn from the geometric distribution, so that each request has the same
// chance, whatever came before it. key_report.h says how chance changes a count.
//
//                 requests a second    64       1,000      16,000    1,000,000
//                 a sample stands for   1    16 to 32         256          256
//
// Summaries cover this minute and the one before it. kRules rules have a place on a core. Another
// rule takes the place of the least busy one, with a chance of what its sample stands for in what
// that rule has had. (Ben Basat et al., "Randomized Admission Policy", 2017.) So rules that come
// once do not push out those that are busy.
//
// Plain memory that begins as zeros (core_slots.h).
//
// Thread rule: add() and keep_texts() on the owning core; report() and each_rule() from any
// thread. A reader may miss what is being written: a counter that changes its key, a minute or a
// place that begins. It never takes one key's count for another's, but for the least ones.
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

// How many samples came in this second, and of how many requests to take one.
class SamplePace {
 public:
  static constexpr unsigned kShiftMax = 8;  // one of 256

  // One sample more. While more than `most` come in a second, each stands for twice as many
  // requests; after each second with less than half of that, for half as many. Returns for how
  // many, as a power of two.
  unsigned next(std::uint32_t second, std::uint32_t most) noexcept;

 private:
  std::uint32_t second_ = 0;
  std::uint16_t samples_ = 0;
  std::uint8_t shift_ = 0;
};

// Which requests of one rule are taken, and where they go.
class KeySampler {
 public:
  // One request more. True: it is to be taken.
  bool takes_next() noexcept { return --left_ < 0; }

 private:
  friend class CoreBusiestKeys;

  std::int32_t left_ = 0;    // requests before the next sample
  std::uint8_t shift_ = 0;   // the next sample stands for so many, as a power of two
  std::uint16_t place_ = 0;  // among the core's rules
  SamplePace pace_;
};

// The first bytes of a key.
class KeyText {
 public:
  static constexpr std::size_t kBytesMax = 64;

  void write(std::uint64_t hash, std::string_view text) noexcept;
  // Names the key in the report, if it is there.
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

  // The key came `weight` times more. Returns the number of its counter.
  std::size_t add(std::uint64_t hash, std::uint64_t weight) noexcept;
  void clear() noexcept;

  std::uint64_t total() const noexcept { return total_.read(); }
  KeyReport report() const;

 private:
  struct Counter {
    std::atomic<std::uint64_t> hash{0};  // 0: of no key
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> error{0};

    void take_over(std::uint64_t new_hash, std::uint64_t weight) noexcept;
    // Nothing while it changes its key.
    std::optional<KeyEstimate> read() const noexcept;
  };
  using Counters = std::array<Counter, kKeys>;

  Counters::iterator least() noexcept;

  OwnCount total_;
  std::atomic<std::uint64_t> weight_{0};  // the largest of one sample
  Counters counters_;
};

class CoreBusiestKeys {
 public:
  static constexpr std::size_t kRules = 256;
  static constexpr Duration kPeriod = std::chrono::minutes(1);
  // That a core takes in a second: for each rule, and for all, so that ten thousand rules cost no
  // more than one.
  static constexpr std::uint32_t kRuleSamplesMax = 64;
  static constexpr std::uint32_t kSamplesMax = 1'024;

  // From now on samples keep the texts of keys, too.
  void keep_texts() noexcept { keeps_texts_.store(1, std::memory_order_relaxed); }

  struct Sample {
    RuleNumber rule;
    RuleOutcome outcome;
    std::uint64_t hash;  // of the key
    std::string_view key;
  };
  // REQUIRES: the sampler is the rule's on this core, and said that it takes this one
  void add(const Sample& sample, KeySampler& sampler, Instant now) noexcept;

  // Reports the rule's keys in this minute and the one before it.
  KeyReport report(RuleNumber rule, KeysBy by, Instant now) const;

  // visit(rule, how often requests asked for its keys) for each rule that has had some.
  template <typename Visit>
  void each_rule(Instant now, Visit visit) const {
    for (const Place& place : places_) {
      const std::uint32_t owner = place.owner.load(std::memory_order_acquire);
      if (owner == 0) continue;
      const std::uint64_t asked = place.asked_since(period_of(now) - 1);
      if (asked > 0) visit(RuleNumber{owner - 1}, asked);
    }
  }

 private:
  static constexpr std::int64_t kNoPeriod = std::numeric_limits<std::int64_t>::min();

  struct Window {
    std::atomic<std::int64_t> number{0};  // nothing came in that minute, of 1970
    std::array<KeySummary, kKeysByCount> summaries;

    void begin(std::int64_t new_number) noexcept;
  };

  struct Place {
    std::atomic<std::uint32_t> owner{0};  // the rule's number, and 1; 0: free
    std::array<Window, 2> windows;

    std::uint64_t asked_since(std::int64_t period) const noexcept;
    void give_to(RuleNumber rule) noexcept;
  };

  using Texts = std::array<std::array<std::array<KeyText, KeySummary::kKeys>, kKeysByCount>, 2>;

  static std::int64_t period_of(Instant now) noexcept;

  Place* place_for(const Sample& sample, KeySampler& sampler, std::int64_t period,
                   Prng& random) noexcept;
  void count(Place& place, const Sample& sample, std::uint64_t weight,
             std::int64_t period) noexcept;
  KeyReport report_of(const Place& place, std::size_t window, KeysBy by) const;

  std::atomic<std::uint32_t> keeps_texts_{0};
  std::uint64_t chance_ = 0;  // the generator's state
  SamplePace pace_;
  std::array<Place, kRules> places_;
  std::array<Texts, kRules> texts_;  // far from the rest: without texts no memory
};

}  // namespace weir
