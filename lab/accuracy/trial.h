// Trial: compares sliding windows of one limit on the requests of source after source.
//
// It asks two questions about each window:
//
//   misjudged   everything counts, over the limit or not, as Cloudflare measured in 2017: which
//               requests does the window wrongly call over the limit (false positives), and which
//               does it wrongly call within the limit (false negatives)?
//   worst       only admitted requests count, as in a limiter: how much does the window admit at
//               most in any window's length, and how much of what an exact log admits?
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
  std::uint64_t over = 0;  // by the exact log
  std::uint64_t false_positives = 0;
  std::uint64_t false_negatives = 0;
  std::int64_t worst = 0;           // units admitted in a window's length, at most
  std::uint64_t admitted = 0;       // of sources that exceed their limit at some time
  std::chrono::nanoseconds took{};  // to decide and count everything
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

  // Decides the requests of one source, in their order, over a time of this length.
  void take(const std::vector<Instant>& times, Duration length);

  // The exact log comes first.
  std::vector<WindowTally> tallies() const;
  std::int64_t limit() const { return quota_.limit(); }

 private:
  class Contender;
  template <typename Window>
  class Runs;

  const Quota quota_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::vector<std::uint8_t> truth_;  // of each request: whether the exact log finds it over
};

}  // namespace weir::lab
