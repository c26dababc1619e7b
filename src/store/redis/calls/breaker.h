// Breaker: when to stop asking a Redis that does not answer, and when to try again.
//
//              kFailuresMax failures in a row           a probe succeeds
//   closed ───────────────────────────────────> open ───────────────────> closed
//                                          ^     │ each probe that fails doubles
//                                          └─────┘ the wait for the next
//
// While it is open no check waits for a deadline. Waits are jittered, so that the nodes of a
// fleet do not come back in step.
//
// Thread rule: one core. Tested by breaker_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prng.h"
#include "weir/time.h"

namespace weir {

class Breaker {
 public:
  static constexpr int kFailuresMax = 4;
  static constexpr Duration kWaitMin = std::chrono::milliseconds(50);
  static constexpr Duration kWaitMax = std::chrono::seconds(1);

  // `seed` makes the jitter: another one for each node and core.
  explicit Breaker(std::uint64_t seed) : chance_(seed) {}

  bool closed() const { return !open_; }
  // When to try again. Instant::max(): it is closed, or a probe is on its way.
  Instant probe_at() const { return probe_at_; }

  void succeeded() {
    failures_ = 0;
    if (!open_) return;
    open_ = false;
    probe_at_ = Instant::max();
    wait_ = kWaitMin;
  }

  // One failure, or one that tells as much as several.
  void failed(int weight, Instant now) {
    failures_ += weight;
    if (open_ || failures_ < kFailuresMax) return;
    open_ = true;
    wait_for_next_probe(now);
  }

  void probe_sent() { probe_at_ = Instant::max(); }

  void probe_failed(Instant now) {
    wait_ = std::min(2 * wait_, kWaitMax);
    wait_for_next_probe(now);
  }

 private:
  // From half of the wait to all of it.
  void wait_for_next_probe(Instant now) {
    const auto half = static_cast<std::uint32_t>(wait_.count() / 2);
    probe_at_ = now + Duration{half + chance_.below(half + 1)};
  }

  bool open_ = false;
  int failures_ = 0;
  Duration wait_ = kWaitMin;
  Instant probe_at_ = Instant::max();
  Prng chance_;
};

}  // namespace weir
