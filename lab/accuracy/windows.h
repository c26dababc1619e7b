// The sliding windows that are compared. Each says whether a request of one unit exceeds the limit,
// and may then be told to count the request.
//
//   ExactLog          the time of each unit: the others are compared with it
//   TwoCounters       the product's algorithm, algo/sliding_window.h
//   StrictSubWindows  the product's window that is never over, algo/strict_window.h
//   PreciseWindow     two counters, and the product's 256 counts (store/memory/fine_counts.h) while
//                     the two come to over a quarter of the limit
//
// Thread rule: one thread. Tested by accuracy_test.cc.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algo/sliding_window.h"
#include "algo/strict_window.h"
#include "store/memory/fine_counts.h"
#include "store/memory/packing.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir::lab {

// One source's life.
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
  // Whether so many units are in the window. REQUIRES: 1 <= units <= limit
  bool has(std::size_t units, Instant now) const {
    const std::size_t at = next_ >= units ? next_ - units : next_ + times_.size() - units;
    return times_[at] > now - window_;
  }
  void add(Instant now) {
    times_[next_] = now;
    if (++next_ == times_.size()) next_ = 0;
  }
  // The average bytes of a sliding_log of the product.
  double bytes(const Life& life) const {
    return kRecord + 16 * std::min(life.per_window, static_cast<double>(times_.size()));
  }

  static constexpr double kRecord = 128;  // of the wide store

 private:
  const Duration window_;
  std::vector<Instant> times_;  // the last ones, as many as the limit
  std::size_t next_ = 0;        // the oldest of these
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

class StrictSubWindows {
 public:
  explicit StrictSubWindows(const Quota& quota)
      : quota_(*Quota::make({Algorithm::kStrictWindow, quota.limit(), quota.window()})) {}

  void clear() { state_ = {}; }
  bool is_over(Instant now) {
    state_ = algo::roll(quota_, state_, now);
    return algo::held(quota_, state_, now) >= quota_.limit();
  }
  void add(Instant) { ++state_.counts.back(); }
  double bytes(const Life&) const { return Packing::fits(quota_) ? 16 : ExactLog::kRecord; }

 private:
  const Quota quota_;
  algo::StrictWindowState state_;
};

class PreciseWindow {
 public:
  explicit PreciseWindow(const Quota& quota) : quota_(quota), coarse_(quota) {}

  void clear() {
    coarse_.clear();
    is_hot_ = false;
    hot_ = Duration{0};
  }
  bool is_over(Instant now) {
    const bool is_over = coarse_.is_over(now);
    const bool is_near = FineCounts::is_near(quota_, coarse_.state(), 1);
    if (is_hot_ && !is_near) leave(now);
    if (!is_near) return is_over;
    if (is_hot_) {
      place_.touch(quota_, coarse_.state(), now);
    } else {
      place_.take(quota_, coarse_.state(), now);
      is_hot_ = true;
      since_ = now;
    }
    const std::int64_t weight = place_.weight(quota_, coarse_.state(), now);
    return coarse_.state().current + weight >= quota_.limit();
  }
  void add(Instant now) {
    coarse_.add(now);
    if (is_hot_) place_.note(coarse_.state().current);
    last_ = now;
  }
  // A place for the hot part of its life, and a quarter of its set's lock.
  double bytes(const Life& life) {
    if (is_hot_) leave(last_ + quota_.window());
    const double place = sizeof(FinePlace) + sizeof(FineFace) + sizeof(HoldMutex) / 4.0;
    return 16 + place * std::chrono::duration<double>(hot_) / life.length;
  }

 private:
  void leave(Instant now) {
    is_hot_ = false;
    hot_ += std::min(now, last_ + quota_.window()) - since_;
  }

  const Quota& quota_;
  TwoCounters coarse_;
  FinePlace place_;
  bool is_hot_ = false;
  Instant since_{};
  Instant last_{};
  Duration hot_{};
};

}  // namespace weir::lab
