// grpc.reflection.v1 and v1alpha: describe the services here to grpcurl and similar tools.
//
// Thread rule: one core. Tested by grpc_reflection_test.cc.

#pragma once

#include <grpc/reflection/v1/reflection.pb.h>
#include <grpc/reflection/v1alpha/reflection.pb.h>

#include "server/grpc/grpc_method.h"

namespace weir::grpc {

// A stream of questions, each answered at once.
template <typename Request, typename Response>
class Reflection final : public Method {
 public:
  // Bytes of answers that wait for the peer.
  static constexpr std::size_t kWaitingMax = 1 << 20;

  void arrived(Http2Stream& stream, Instant now) override;
  void completed(Http2Stream& stream, Instant now) override;
  void closing(Http2Stream& stream) override;

 protected:
  void begin(Http2Stream& stream) override;

 private:
  void answer();

  Request request_;
  Response response_;
};

using ReflectionV1 = Reflection<::grpc::reflection::v1::ServerReflectionRequest,
                                ::grpc::reflection::v1::ServerReflectionResponse>;
using ReflectionV1Alpha = Reflection<::grpc::reflection::v1alpha::ServerReflectionRequest,
                                     ::grpc::reflection::v1alpha::ServerReflectionResponse>;

}  // namespace weir::grpc
