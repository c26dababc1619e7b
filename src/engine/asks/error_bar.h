// ErrorBar: how often sliding windows misjudge, counted while they decide.
//
// A key is watched in spells: one in kShare of them, each of two to four windows. In a spell an
// exact log runs next to its counters: the sliding_log of a small store of its own, charged with
// what was admitted. A request is misjudged if it was denied though the log has room for it, or
// admitted though the log has none. From when the spell is a window old the log is exact, and each
// request is judged.
//
// Spells begin by the hash of the key and the clock, whatever the key does. So what is judged is a
// random share of all requests, and the few keys that ask for most are watched in their turn: once
// in kShare spells. Until each had its turn nothing is estimated, as one that had none may ask for
// most. The share that is misjudged is a ratio of two sums over spells. How much the spells differ
// says how far it may be off (Cochran, Sampling Techniques, 6.4).
//
// Rules in mode local with one sliding_window of at most kUnitsMax are watched. Of others, other
// nodes have seen requests, too.
//
// Thread rule: any thread. Tested by error_bar_test.cc.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "observe/rule_counts.h"
#include "weir/key.h"
#include "weir/memory_store.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

class ErrorBar {
 public:
  static constexpr std::uint64_t kShare = 128;
  static constexpr std::int64_t kUnitsMax = 1'000;
  // Watched at once; if there are more, fewer spells.
  static constexpr std::size_t kKeysMax = 1'024;
  // Twice as many places, as a store that is nearly full may have none for a key. It takes 16 MB
  // when each log is full.
  static constexpr MemoryStoreOptions kLogs = {.max_keys = 2 * kKeysMax,
                                               .max_wide_keys = 2 * kKeysMax,
                                               .log_entries_max = kKeysMax * kKeysMax};

  // `logs` has nothing else in it, and must outlive this. A spell that began before `start` is not
  // judged.
  ErrorBar(Store& logs, Instant start) : logs_(logs), exact_from_(start) {}

  struct Spell {
    std::uint64_t number = 0;
    Duration age{};
    Duration length{};
    Duration window{};
  };
  static Spell spell_of(const KeyHash& key, Duration window, Instant now) {
    const auto bits = 65 - std::countl_zero(static_cast<std::uint64_t>(window.count()) | 1);
    const std::uint64_t at = static_cast<std::uint64_t>(epoch_us(now)) + key.high;
    const std::uint64_t length = std::uint64_t{1} << bits;
    return {at >> bits, Duration(at & (length - 1)), Duration(length), window};
  }
  static bool watches(const KeyHash& key, Duration window, Instant now) {
    return spell_of(key, window, now).number % kShare == 0;
  }

  // A request as it was decided. REQUIRES: watches(charge.key, its window, now), charge.cost > 0
  struct Judged {
    RuleNumber rule;
    Charge charge;
    bool was_admitted;
    bool was_charged;  // not if another rule denied the request
  };
  void judge(const Judged& judged, Instant now);
  // A reset, or units that were given back (kCharge): the log does as the counters did.
  // REQUIRES: watches(), as above
  void follow(Operation operation, const Charge& charge, Instant now);
  // The key was changed by something else: the rest of its spell is not judged. REQUIRES: as above
  void forget(const KeyHash& key, Duration window, Instant now);

  struct Estimate {
    double share = 0;  // of all requests
    double least = 0;  // the bounds hold with a confidence of 95 %
    double most = 1;
  };
  // Sums over spells. The less of a spell is judged, and the fewer are watched, the more it weighs.
  struct Sums {
    double spells = 0;
    double requests = 0;
    double misjudged = 0;
    // Of products: a spell's requests, and how many of them were misjudged.
    double requests_squared = 0;
    double misjudged_squared = 0;
    double both = 0;
    double most_misjudged = 0;  // in a spell

    Sums& operator+=(const Sums& other);
    Estimate estimate() const;
  };
  // Counts of requests that were judged.
  struct Tally {
    std::uint64_t requests = 0;
    std::uint64_t denied_early = 0;
    std::uint64_t admitted_over = 0;
    Sums sums;  // none until each key has had its turn: one that had not may ask for most
  };
  Tally of(RuleNumber rule) const;
  Tally of_all() const;

 private:
  struct Watched {
    std::uint64_t spell = 0;
    Instant ends{};
    bool is_exact = true;
    double weight = 1;  // of each request
    double requests = 0;
    double misjudged = 0;
  };
  struct Judging {
    Tally tally;
    Instant since{};     // first judged
    Instant latest{};    // last judged
    double turn_us = 0;  // in which each key was watched once
  };
  struct Hash {
    std::size_t operator()(const KeyHash& key) const { return key.low; }
  };

  Watched* place_of(const KeyHash& key, const Spell& spell, Instant now);
  void make_room(Instant now);
  template <typename Goes>
  void erase(Goes goes, Instant now);
  static void count(Tally& tally, Watched& watched, std::uint64_t Tally::*kind);
  static Tally told(const Judging& judging);

  Store& logs_;
  mutable std::mutex mutex_;      // guards what follows, and the logs
  std::uint64_t strangers_ = 0;   // requests of keys that had no place
  std::uint64_t share_ = kShare;  // a multiple of it, while more keys ask than have a place
  Instant exact_from_;            // what spells that began before have missed, nobody knows
  std::unordered_map<KeyHash, Watched, Hash> watched_;
  std::unordered_map<RuleNumber, Judging> judged_;
};

}  // namespace weir
