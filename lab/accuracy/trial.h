// Trial: sliding windows of one limit, side by side on the requests of source after source.
//
// Two questions are asked of each window:
//
//   misjudged   everything counts, whether it is over the limit or not, as Cloudflare measured in
//               2017; which requests are called over the limit that are not (false positives), and
//               the other way round (false negatives)?
//   worst       only what is admitted counts, as in a limiter: what is the most that any window's
//               length admits, and how much of what an exact log admits?
//
// Thread rule: one thread. Tested by accuracy_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/quota.h"
#include "weir/time.h"

namespace weir::lab {

struct WindowTally {
  std::string window;
  std::uint64_t requests = 0;
  std::uint64_t over = 0;  // the exact log says
  std::uint64_t false_positives = 0;
  std::uint64_t false_negatives = 0;
  std::int64_t worst = 0;           // units admitted in a window's length, at most
  std::uint64_t admitted = 0;       // of sources that are over their limit at some time
  std::chrono::nanoseconds took{};  // deciding and counting everything
  double bytes = 0;                 // of all keys, on average over time
  std::uint64_t sources = 0;

  std::uint64_t misjudged() const { return false_positives + false_negatives; }
};

class Trial {
 public:
  // REQUIRES: limit >= 1
  Trial(std::int64_t limit, Duration window);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // The requests of one source, in their order, in a time of this length.
  void take(const std::vector<Instant>& times, Duration length);

  // The exact log first.
  std::vector<WindowTally> tallies() const;
  std::int64_t limit() const { return quota_.limit(); }

 private:
  class Contender;
  template <typename Window>
  class Runs;

  const Quota quota_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::vector<std::uint8_t> truth_;  // of each request: the exact log says it is over
};

}  // namespace weir::lab
