// A load run: connections that ask, for a time, and what came of it.
//
// Two ways to ask:
//
// - closed loop (no rate): each connection sends a batch of `depth` requests in one
//   write and the next one when all are answered, as redis-benchmark -P does. It finds
//   a server's capacity. Its latencies are service times: a server that stalls is sent
//   less, so they say nothing about what independent clients would have felt.
// - open loop (a rate): a fixed schedule (pace.h), `depth` the most on their way on a
//   connection. Latencies count from the moment a request was due. Requests that were
//   never answered, or never even sent, count as having taken until the end.
//
// A run is bounded by its duration, by requests_max, and by a time to drain.
//
// Why plain epoll and not Asio: this program cannot measure a system call that costs less than its
// own do. It needs nothing else that a library has: no timers, no cancellation, no portability. One
// recv and one send a batch, nothing in between.
//
// Thread rule: run_load() starts its own threads and joins them.
// Tested by load_test.cc.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "load/codec.h"
#include "load/connection.h"
#include "load/histogram.h"
#include "load/target.h"
#include "load/zipf.h"

namespace weir::load {

struct LoadPlan {
  std::size_t connections = 64;
  std::size_t depth = 1;    // requests on their way on one connection
  std::size_t threads = 1;  // at most one a connection
  KeySpec keys;
  Nanoseconds duration = std::chrono::seconds(5);
  Nanoseconds drain = std::chrono::seconds(1);  // waited for the last replies, after that
  std::optional<double> rate;                   // requests a second, all threads together
  std::uint64_t requests_max = std::uint64_t{1} << 40;
  std::uint64_t seed = 1;
};

struct LoadResult {
  Outcome outcome;
  std::uint64_t lost = 0;        // sent, then the connection broke
  std::uint64_t unanswered = 0;  // sent, no reply by the end
  std::uint64_t unsent = 0;      // due by the schedule, never sent
  std::uint64_t reconnects = 0;
  Nanoseconds elapsed{0};  // until the last reply
  Nanoseconds cpu{0};      // used by the client's threads

  std::uint64_t errors() const { return outcome.tally.failed + lost + unanswered + unsent; }
  double per_second() const;
};

// Connects everything, then starts the clock. Throws LoadError if that fails.
// REQUIRES: connections, depth, threads and keys.keys >= 1; threads <= connections
LoadResult run_load(const Target& target, const LoadPlan& plan, const CodecFactory& codec);

}  // namespace weir::load
