// A load run: connections that send requests for a time, and the result.
//
// There are two ways to ask:
//
// - closed loop (no rate): each connection sends a batch of `depth` requests in one
//   write and the next one when all are answered, as redis-benchmark -P does. It finds
//   a server's capacity. Its latencies are service times: a server that stalls gets
//   fewer requests, so they say nothing about the latencies of independent clients.
// - open loop (a rate): a fixed schedule (pace.h), with at most `depth` in flight on a
//   connection. Latencies count from the moment a request was due. Requests that were
//   never answered, or never even sent, count as having taken until the end.
//
// A run is bounded by its duration, by requests_max, and by a time to drain.
//
// Plain epoll and not Asio: this program cannot measure a system call that costs less than its own.
// It needs nothing else of a library: no timers, no cancellation, no portability. A batch takes one
// recv and one send.
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
  std::size_t depth = 1;    // requests in flight on one connection
  std::size_t threads = 1;  // at most one for each connection
  KeySpec keys;
  Nanoseconds duration = std::chrono::seconds(5);
  Nanoseconds drain = std::chrono::seconds(1);  // time for the last replies, after the duration
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
