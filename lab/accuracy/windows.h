// The sliding windows that are compared: each says of a request of one unit whether it goes over
// the limit, and may then be told to count it.
//
//   ExactLog          the time of each unit: what the others are held to
//   TwoCounters       the product's algorithm, algo/sliding_window.h
//   StrictSubWindows  five counts of a quarter of a window each; the oldest counts whole, so that
//                     what is admitted is never above the limit in any window
//   PreciseWindow     two counters; and, while they count over a quarter of the limit together,
//                     the times of each unit (limits up to 128) or 256 counts
//
// Thread rule: one thread. Tested by accuracy_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algo/sliding_window.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir::lab {

// Of one source.
struct Life {
  Duration length{};
  double per_window = 0;  // requests
};

class ExactLog {
 public:
  explicit ExactLog(const Quota& quota)
      : window_(quota.window()), times_(static_cast<std::size_t>(quota.limit()), Instant{}) {}

  void clear() { times_.assign(times_.size(), Instant{}); }
  bool is_over(Instant now) const { return has(times_.size(), now); }
  // Whether so many are in the window. REQUIRES: 1 <= units <= limit
  bool has(std::size_t units, Instant now) const {
    const std::size_t at = next_ >= units ? next_ - units : next_ + times_.size() - units;
    return times_[at] > now - window_;
  }
  void add(Instant now) {
    times_[next_] = now;
    if (++next_ == times_.size()) next_ = 0;
  }
  // On average, as a sliding_log of the product takes it.
  double bytes(const Life& life) const {
    return kRecord + 16 * std::min(life.per_window, static_cast<double>(times_.size()));
  }

  static constexpr double kRecord = 128;  // of the wide store

 private:
  const Duration window_;
  std::vector<Instant> times_;  // the last ones, as many as the limit
  std::size_t next_ = 0;        // the oldest of them
};

class TwoCounters {
 public:
  explicit TwoCounters(const Quota& quota) : quota_(quota) {}

  void clear() { state_ = {}; }
  // REQUIRES: `now` is not earlier than before
  std::int64_t held(Instant now) {
    state_ = algo::roll(quota_, state_, now);
    return state_.current + algo::previous_weight(quota_, state_, now);
  }
  bool is_over(Instant now) { return held(now) >= quota_.limit(); }
  void add(Instant) { ++state_.current; }
  const algo::SlidingWindowState& state() const { return state_; }
  static double bytes(const Life&) { return 16; }

 private:
  const Quota& quota_;
  algo::SlidingWindowState state_;
};

// Counts of the last sub-windows.
template <typename Count, std::size_t kCounts>
class SubWindows {
 public:
  // The counts but one are a window, at least.
  explicit SubWindows(Duration window) : width_us_((window.count() + kParts - 1) / kParts) {}

  void clear() {
    counts_ = {};
    total_ = 0;
    newest_ = 0;
  }
  void advance(Instant now) {
    const std::int64_t number = epoch_us(now) / width_us_;
    if (number - newest_ >= static_cast<std::int64_t>(kCounts)) {
      counts_ = {};
      total_ = 0;
      newest_ = number;
    }
    while (newest_ < number) {
      Count& oldest = counts_[static_cast<std::size_t>(++newest_) % kCounts];
      total_ -= oldest;
      oldest = 0;
    }
  }
  // May be earlier than the newest, by less than a window.
  void add(Instant at) {
    ++counts_[static_cast<std::size_t>(epoch_us(at) / width_us_) % kCounts];
    ++total_;
  }
  std::int64_t total() const { return total_; }
  // The oldest counts in part, to the nearest unit. REQUIRES: advanced to `now`
  std::int64_t held(Instant now) const {
    const std::int64_t oldest = counts_[static_cast<std::size_t>(newest_ + 1) % kCounts];
    const std::int64_t gone_us = epoch_us(now) - newest_ * width_us_;
    return total_ - (oldest * gone_us + width_us_ / 2) / width_us_;
  }

 private:
  static constexpr std::int64_t kParts = kCounts - 1;

  const std::int64_t width_us_;
  std::int64_t newest_ = 0;
  std::int64_t total_ = 0;
  std::array<Count, kCounts> counts_{};
};

class StrictSubWindows {
 public:
  explicit StrictSubWindows(const Quota& quota) : quota_(quota), counts_(quota.window()) {}

  void clear() { counts_.clear(); }
  bool is_over(Instant now) {
    counts_.advance(now);
    return counts_.total() >= quota_.limit();
  }
  void add(Instant now) { counts_.add(now); }
  // Sixteen where five counts fit next to their time, as docs/internals/memory_store.md has it.
  double bytes(const Life&) const {
    const int count_bits = 23 + bits(quota_.window().count() / 4) - 1;
    return 5 * bits(quota_.limit()) <= count_bits ? 16 : ExactLog::kRecord;
  }

 private:
  static int bits(std::int64_t value) {
    return 64 - __builtin_clzll(static_cast<unsigned long long>(value));
  }

  const Quota& quota_;
  SubWindows<std::int64_t, 5> counts_;
};

class PreciseWindow {
 public:
  static constexpr std::int64_t kLogMax = 128;  // the largest limit that has a log

  explicit PreciseWindow(const Quota& quota)
      : quota_(quota), coarse_(quota), log_(quota), fine_(quota.window()) {}

  void clear() {
    coarse_.clear();
    is_hot_ = false;
    hot_ = Duration{0};
  }
  bool is_over(Instant now) {
    const bool is_over = coarse_.is_over(now);
    if (!is_hot_) return is_over;
    if (!is_near()) {
      leave(now);
      return is_over;
    }
    return has_log() ? log_.is_over(now) : held(now) >= quota_.limit();
  }
  void add(Instant now) {
    coarse_.add(now);
    last_ = now;
    if (is_hot_) {
      note(now);
    } else if (is_near()) {
      enter(now);
    }
  }
  // A place in a side store for as much of its life as it is hot.
  double bytes(const Life& life) {
    if (is_hot_) leave(last_ + quota_.window());
    return 16 + kPlace * std::chrono::duration<double>(hot_) / life.length;
  }

 private:
  static constexpr double kPlace = 512 + 24;  // counts or times, and whose they are

  bool has_log() const { return quota_.limit() <= kLogMax; }
  // Whether the window may hold a quarter of the limit, however the counts lie in their windows.
  bool is_near() const {
    return coarse_.state().previous + coarse_.state().current > quota_.limit() / 4;
  }
  std::int64_t held(Instant now) {
    fine_.advance(now);
    return fine_.held(now);
  }
  void note(Instant at) {
    if (has_log()) {
      log_.add(at);
    } else {
      fine_.add(at);
    }
  }
  // What the counters know, as evenly spread as they take it to be.
  void enter(Instant now) {
    is_hot_ = true;
    since_ = now;
    log_.clear();
    fine_.clear();
    fine_.advance(now);
    const Instant start = instant_from_epoch_us(coarse_.state().start_us);
    spread(algo::previous_weight(quota_, coarse_.state(), now), now - quota_.window(), start);
    spread(coarse_.state().current, start, now);
  }
  void spread(std::int64_t units, Instant from, Instant to) {
    for (std::int64_t unit = 0; unit < units; ++unit) {
      note(from + (to - from) * (2 * unit + 1) / (2 * units));
    }
  }
  void leave(Instant now) {
    is_hot_ = false;
    hot_ += std::min(now, last_ + quota_.window()) - since_;
  }

  const Quota& quota_;
  TwoCounters coarse_;
  ExactLog log_;
  SubWindows<std::uint16_t, 256> fine_;
  bool is_hot_ = false;
  Instant since_{};
  Instant last_{};
  Duration hot_{};
};

}  // namespace weir::lab
