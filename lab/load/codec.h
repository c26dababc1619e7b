// Codec: a protocol, for the load generator: makes the bytes of requests, and counts replies.
//
// HTTP, gRPC and RESP differ only here; connections, pacing, latencies and reports use this class.
// A codec belongs to one connection, so that a protocol may keep per-connection state (stream
// numbers, header tables).
//
// Both calls work on whole batches: one virtual call a system call, not one a request.
//
// Thread rule: one owner. Tested by http_codec_test.cc and resp_codec_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace weir::load {

// Counts replies: all of them, and each kind.
struct Tally {
  std::uint64_t replies = 0;
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t failed = 0;  // well-formed, but not an answer: a 404, a 500

  Tally& operator+=(const Tally& other) noexcept {
    replies += other.replies;
    allowed += other.allowed;
    denied += other.denied;
    failed += other.failed;
    return *this;
  }
};

class Codec {
 public:
  virtual ~Codec() = default;

  // The bytes of one request for each key, in order. Valid until the next call.
  // REQUIRES: keys.size() <= the depth the codec was made for
  virtual std::string_view requests(std::span<const std::uint32_t> keys) = 0;

  // Counts the complete replies at the front of `bytes`, which come in the order of their requests.
  // Returns how many bytes they took; the rest is the beginning of a reply. nullopt if the peer
  // does not speak the protocol.
  virtual std::optional<std::size_t> replies(std::string_view bytes, Tally& tally) = 0;
};

// Makes the codec of a new connection with at most `depth` requests in flight.
using CodecFactory = std::function<std::unique_ptr<Codec>(std::size_t depth)>;

}  // namespace weir::load
