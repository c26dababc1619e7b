// Connection: one socket of a load run and its requests in flight.
//
// It does each system call at most once and never waits: a Worker's epoll says when to come again.
// Bytes are read into a buffer that all connections of a worker share, so the client's working set
// stays in the first-level cache.
//
// Thread rule: one worker. Tested by load_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "load/codec.h"
#include "load/histogram.h"
#include "load/pace.h"
#include "load/target.h"

namespace weir::load {

// The sum of a worker's replies.
struct Outcome {
  Tally tally;
  Histogram latency;
  Time last_reply{};
};

class Connection {
 public:
  enum class Io : std::uint8_t {
    kDone,     // nothing waits to be written
    kBlocked,  // call flush() when the socket can be written to
    kClosed,   // by the peer, an error, or bytes that are not the protocol
  };

  // Connects, waiting up to kConnectTimeout. Throws LoadError.
  Connection(const Target& target, std::unique_ptr<Codec> codec, std::size_t depth);

  int descriptor() const { return socket_.get(); }
  std::size_t outstanding() const { return outstanding_; }
  // How many requests may be sent now.
  std::size_t room() const { return unsent_.empty() ? sent_at_.size() - outstanding_ : 0; }

  // Sends a request for each key. The latency of each counts from its `sent_at`.
  // REQUIRES: keys.size() == sent_at.size() <= room()
  Io send(std::span<const std::uint32_t> keys, std::span<const Time> sent_at);
  Io flush();

  // Reads once, by way of `buffer`, and accounts for each complete reply.
  // REQUIRES: buffer.size() >= kBufferSize, the same size at each call
  Io receive(std::span<char> buffer, Outcome& outcome);

  // Counts each request in flight as one that took until `now`, at least.
  void abandon(Time now, Histogram& latency);

  static constexpr std::size_t kBufferSize = std::size_t{128} << 10;
  static constexpr int kConnectTimeoutS = 5;

 private:
  void account(std::uint64_t replies, Time now, Histogram& latency);

  UniqueFd socket_;
  std::unique_ptr<Codec> codec_;
  std::string_view unsent_;  // a view of the codec's bytes
  std::string partial_;      // the beginning of a reply
  // A ring: when each request in flight was sent, the oldest at oldest_.
  std::vector<Time> sent_at_;
  std::size_t oldest_ = 0;
  std::size_t outstanding_ = 0;
};

}  // namespace weir::load
