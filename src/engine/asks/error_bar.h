// ErrorBar: how often sliding windows misjudge, counted while they decide.
//
// A key is watched in spells of two to four windows, one spell in kShare. In a spell an exact log
// runs next to the key's counters: the sliding_log of a small store of its own, charged with all
// admitted units. A request is misjudged if it was denied though the log has room for it, or
// admitted though the log has none. Once the spell is a window old, the log is exact and each
// request is judged.
//
// A key's hash and the clock decide when its spells begin, whatever the key does. So the judged
// requests are a random share of all. The few keys that ask for most have their turn once in kShare
// spells. Nothing is estimated before each key has had its turn, as the missing one may ask for
// most. The misjudged share is a ratio of two sums over spells. How much the spells differ says how
// far it may be off (Cochran, Sampling Techniques, 6.4).
//
// Watches rules in mode local with one sliding_window of at most kUnitsMax. Keys of the other modes
// have requests on other nodes, too.
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
  // Keys watched at once. If more keys ask, fewer spells are watched.
  static constexpr std::size_t kKeysMax = 1'024;
  // Twice as many places, as a nearly full store may lack a place for a key. Takes 16 MB when every
  // log is full.
  static constexpr MemoryStoreOptions kLogs = {.max_keys = 2 * kKeysMax,
                                               .max_wide_keys = 2 * kKeysMax,
                                               .log_entries_max = kKeysMax * kKeysMax};

  // `logs` must be empty, and outlive this. Spells that began before `start` are not judged.
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
    bool was_charged;  // false if another rule denied the request
  };
  void judge(const Judged& judged, Instant now);
  // A reset, or units that were given back (kCharge): the log does what the counters did.
  // REQUIRES: watches(), as for judge()
  void follow(Operation operation, const Charge& charge, Instant now);
  // Something else changed the key: the rest of its spell is not judged. REQUIRES: as for judge()
  void forget(const KeyHash& key, Duration window, Instant now);

  struct Estimate {
    double share = 0;  // of all requests
    double least = 0;  // the bounds hold with a confidence of 95 %
    double most = 1;
  };
  // Sums over spells. A spell weighs more if less of it is judged, and if fewer spells are watched.
  struct Sums {
    double spells = 0;
    double requests = 0;
    double misjudged = 0;
    // Sums of products of a spell's requests and its misjudged requests.
    double requests_squared = 0;
    double misjudged_squared = 0;
    double both = 0;
    double most_misjudged = 0;  // in a spell

    Sums& operator+=(const Sums& other);
    Estimate estimate() const;
  };
  // Counts of judged requests.
  struct Tally {
    std::uint64_t requests = 0;
    std::uint64_t denied_early = 0;
    std::uint64_t admitted_over = 0;
    Sums sums;  // empty until each key has had its turn
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
    double turn_us = 0;  // the time in which each key is watched once
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
  mutable std::mutex mutex_;      // guards all below, and the logs
  std::uint64_t strangers_ = 0;   // requests of keys that had no place
  std::uint64_t share_ = kShare;  // a multiple of kShare while more keys ask than have a place
  Instant exact_from_;            // spells that began before have missed requests
  std::unordered_map<KeyHash, Watched, Hash> watched_;
  std::unordered_map<RuleNumber, Judging> judged_;
};

}  // namespace weir
