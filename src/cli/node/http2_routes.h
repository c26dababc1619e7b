// Http2Routes: which of a core's services an HTTP/2 request of the HTTP door is for.
//
// Thread rule: the core that owns it. Tested by tests/e2e/grpc_test.py.

#pragma once

#include "proto/http2/http2_service.h"
#include "server/grpc/grpc_door.h"
#include "server/http/http_door.h"

namespace weir {

class Http2Routes final : public Http2Router {
 public:
  // Both must outlive the routes.
  Http2Routes(GrpcDoor& grpc, HttpDoor& http) : grpc_(grpc), http_(http) {}

  Http2Service& route(const Http2Stream& stream) override {
    const bool is_grpc = stream.field("content-type").starts_with("application/grpc");
    return is_grpc ? grpc_.route(stream) : http_.http2();
  }
  void stamp(Duration elapsed) override { grpc_.stamp(elapsed); }  // of one core, like HTTP's

 private:
  GrpcDoor& grpc_;
  HttpDoor& http_;
};

}  // namespace weir
