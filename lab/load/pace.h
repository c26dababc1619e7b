// Pace: the schedule of an open loop, request i at start + i / rate.
//
// Real clients do not wait for each other. A load generator that waits for a slow reply before it
// sends the next request leaves out the very requests that would have been slow, too ("coordinated
// omission"). So with a rate the schedule is fixed in advance, and a latency counts from the moment
// a request was due, even if it could not be sent then.
//
// Thread rule: immutable. Tested by pace_test.cc.

#pragma once

#include <chrono>
#include <cstdint>

#include "load/histogram.h"

namespace weir::load {

using LoadClock = std::chrono::steady_clock;
using Time = LoadClock::time_point;

class Pace {
 public:
  // REQUIRES: per_second > 0
  Pace(double per_second, Time start) : interval_ns_(1e9 / per_second), start_(start) {}

  // When request `index` is due.
  Time due_at(std::uint64_t index) const {
    const double offset_ns = static_cast<double>(index) * interval_ns_;
    return start_ + Nanoseconds{static_cast<std::int64_t>(offset_ns)};
  }

  // How many requests are due at `now`, the first at `start`.
  std::uint64_t due(Time now) const {
    if (now < start_) return 0;
    const auto elapsed_ns = static_cast<double>(Nanoseconds{now - start_}.count());
    auto count = static_cast<std::uint64_t>(elapsed_ns / interval_ns_) + 1;
    // Divisions round; due() and due_at() must agree, or a request is "sent early".
    while (count > 0 && due_at(count - 1) > now) --count;
    while (due_at(count) <= now) ++count;
    return count;
  }

 private:
  double interval_ns_;
  Time start_;
};

}  // namespace weir::load
