// Methods of gRPC services: their common part, and unary methods, which take one message and answer
// one.
//
// Thread rule: one core. Tested by grpc_door_test.cc.

#pragma once

#include <google/protobuf/message_lite.h>

#include <optional>
#include <string_view>

#include "proto/http2/http2_stream.h"
#include "server/grpc/grpc_message.h"

namespace weir::grpc {

class Method : public Http2Service {
 public:
  // For a method that takes little, in bytes.
  static constexpr std::size_t kShortMessageMax = 64 << 10;

  std::size_t body_max() const override { return kShortMessageMax; }
  void opened(Http2Stream& stream, Instant now) override;
  void too_long(Http2Stream& stream, Instant now) override;
  void expired(Http2Stream& stream, Instant now) override;

 protected:
  // The head is in order.
  virtual void begin(Http2Stream&) {}
};

class UnaryMethod : public Method {
 public:
  void arrived(Http2Stream& stream, Instant now) override;
  void completed(Http2Stream& stream, Instant now) override;

 protected:
  struct Outcome {
    Status status{};
    const google::protobuf::MessageLite* reply = nullptr;  // if the status is OK
  };
  // nullopt: the reply comes later, and the stream keeps it.
  virtual std::optional<Outcome> call(Http2Stream& stream, std::string_view message,
                                      Instant now) = 0;
  static void reply(Http2Stream& stream, const Outcome& outcome);
};

inline constexpr Status kUnreadable = {.code = Code::kInternal,
                                       .message = "the message is not what the method expects"};

inline bool parse(google::protobuf::MessageLite& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace weir::grpc
