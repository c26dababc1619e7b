// Http2Routes: sends the HTTP/2 requests of the HTTP door to a core's services.
//
// Thread rule: its core's. Tested by tests/e2e/grpc_test.py.

#pragma once

#include "proto/http2/http2_session.h"
#include "server/grpc/grpc_door.h"
#include "server/http/http_door.h"
#include "weir/time.h"

namespace weir {

class Http2Routes final : public Http2Router {
 public:
  // Both must outlive the routes.
  Http2Routes(GrpcDoor& grpc, HttpDoor& http) : grpc_(grpc), http_(http) {}

  Http2Service& route(const Http2Stream& stream) override {
    const bool is_grpc = stream.field("content-type").starts_with("application/grpc");
    return is_grpc ? grpc_.route(stream) : http_.http2();
  }
  void stamp(Duration elapsed) override { grpc_.stamp(elapsed); }  // its core's, like HTTP's

 private:
  GrpcDoor& grpc_;
  HttpDoor& http_;
};

}  // namespace weir
