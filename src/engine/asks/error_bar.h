// ErrorBar: how often sliding windows misjudge, counted while they decide.
//
// One key in kShare has an exact log next to its counters: the sliding_log of a small store of its
// own, charged with what was admitted. A request is misjudged if it was denied though the log has
// room for it, or admitted though the log has none. A key is judged from when its log is exact: at
// once if its counters held nothing, else after a window.
//
// The first request of a key in each sixteenth of a window is judged. Else a few keys that hammer
// would be all that counts. Keys are drawn by their hashes, so the share that is misjudged is a
// ratio of two sums over drawn keys. How much the keys differ says how far it may be off (Cochran,
// Sampling Techniques, 6.4).
//
// Rules in mode local with one sliding_window of at most kUnitsMax are watched. Of others, other
// nodes have seen requests, too.
//
// Thread rule: any thread. Tested by error_bar_test.cc.

#pragma once

#include <array>
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
  static constexpr std::uint64_t kShare = 32;
  static constexpr std::int64_t kParts = 16;  // of a window
  static constexpr std::int64_t kUnitsMax = 1'000;
  static constexpr std::size_t kKeysMax = 1'024;  // watched at once; no others until one is idle
  // The store of the logs takes 16 MB when each of them is full.
  static constexpr MemoryStoreOptions kLogs = {
      .max_keys = kKeysMax, .max_wide_keys = kKeysMax, .log_entries_max = kKeysMax * kKeysMax};

  // `logs` has nothing else in it, and must outlive this.
  explicit ErrorBar(Store& logs) : logs_(logs) {}

  static bool watches(const KeyHash& key) { return (key.low >> 40) % kShare == 0; }

  // A request as it was decided. REQUIRES: watches(charge.key), charge.cost > 0
  struct Judged {
    RuleNumber rule;
    Charge charge;
    bool was_admitted;
    bool was_charged;    // not if another rule denied the request
    bool was_untouched;  // its counters held nothing before
  };
  void judge(const Judged& judged, Instant now);
  // The key was changed by something else, such as a reset.
  void forget(const KeyHash& key, Instant now);

  struct Estimate {
    double share = 0;  // of all requests
    double least = 0;  // the bounds hold with a confidence of 95 %
    double most = 0;
  };
  // Of drawn keys.
  struct Tally {
    std::uint64_t requests = 0;
    std::uint64_t denied_early = 0;
    std::uint64_t admitted_over = 0;
    // Sums over keys of products of their requests and how many of these were misjudged.
    double requests_squared = 0;
    double misjudged_squared = 0;
    double both = 0;
    std::uint64_t most_misjudged = 0;  // of a key

    Tally& operator+=(const Tally& other);
    Estimate estimate() const;
  };
  Tally of(RuleNumber rule) const;
  Tally of_all() const;

 private:
  struct Watched {
    KeyHash key{};
    Instant exact_from{};
    Instant idle_at{};
    std::int64_t part = 0;  // in which it was judged last
    std::uint64_t requests = 0;
    std::uint64_t misjudged = 0;
  };

  Watched& place_of(const KeyHash& key) { return watched_[(key.low >> 46) % kKeysMax]; }
  void count(Tally& tally, Watched& watched, std::uint64_t Tally::*kind);

  Store& logs_;
  mutable std::mutex mutex_;  // guards what follows, and the logs
  std::array<Watched, kKeysMax> watched_{};
  std::unordered_map<RuleNumber, Tally> tallies_;
};

}  // namespace weir
