// How gRPC puts messages and outcomes on an HTTP/2 stream.
//
//   message   1 byte: compressed or not, 4 bytes: length, big endian, then the message;
//             DATA frames split it anywhere
//   outcome   the trailers grpc-status and grpc-message, or the same in the head of an
//             answer that has no message ("trailers only")
//
// Thread rule: pure functions; those that answer on a stream, the stream's core.
// Tested by grpc_message_test.cc.

#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/http2/http2_stream.h"
#include "weir/time.h"

namespace weir::grpc {

inline constexpr std::size_t kMessageMax = 4 << 20;  // bytes; every gRPC server's default
inline constexpr std::size_t kPrefixSize = 5;

enum class Code : std::uint8_t {
  kOk = 0,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

struct Status {
  Code code = Code::kOk;
  std::string_view message{};
};

enum class Framing : std::uint8_t { kPartial, kComplete, kCompressed, kTooLong };

struct Message {
  Framing framing = Framing::kPartial;
  std::string_view payload{};  // if complete
  std::size_t size() const { return kPrefixSize + payload.size(); }
};

// The message at the front of `bytes`.
Message find_message(std::span<const char> bytes);

// "100m" is 100 ms. nullopt if the text has another form; at most a year.
std::optional<Duration> parse_timeout(std::string_view text);

// application/grpc, also with +proto or parameters.
bool is_grpc(std::string_view content_type);

// The message with all but printable ASCII, and '%', as %XX.
std::string percent_encode(std::string_view message);

// Ends what goes on for long when its connection ends.
inline constexpr Status kClosing = {.code = Code::kUnavailable,
                                    .message = "the connection is closing"};

// These answer on a stream.
void begin_reply(Http2Stream& stream);
void append_message(Http2Stream& stream, const google::protobuf::MessageLite& message);
// Ends a reply that has messages. REQUIRES: the status's message is a constant, and plain.
void end_reply(Http2Stream& stream, const Status& status);
// The whole answer.
void refuse(Http2Stream& stream, const Status& status);
// Refuses a message that cannot be read. REQUIRES: `framing` is not complete
void refuse_message(Http2Stream& stream, Framing framing);

}  // namespace weir::grpc
