// GrpcDoor: the gRPC services of one core, to be reached through an Http2Door.
//
//   GrpcDoor grpc(node, engine, blocks, rules, options);
//   Http2Door door(grpc);              or a router that knows further services
//
// Thread rule: the core that owns it. Tested by grpc_door_test.cc.

#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "proto/http2/http2_stream.h"
#include "server/grpc/grpc_method.h"
#include "server/grpc/health.h"
#include "server/grpc/hold_slot.h"
#include "server/grpc/reflection.h"
#include "server/grpc/should_rate_limit.h"

namespace weir {

class GrpcDoor final : public Http2Router {
 public:
  // `node`, `engine` and `blocks` must outlive the door, and the door its streams.
  GrpcDoor(const GrpcNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules,
           const RlsOptions& options);

  // From the next request on. To be called on the core, outside any session's call.
  void use_rules(const RuleSetPtr& rules) {
    hold_slot_.use_rules(rules);
    service().use_rules(rules);
  }

  // Calls that hold slots need the core's loop while it serves.
  grpc::HoldSlot& hold_slot() { return hold_slot_; }
  // The service that decides the calls.
  rls::RateLimitService& service() { return should_rate_limit_.service(); }

  Http2Service& route(const Http2Stream& stream) override;
  void stamp(Duration elapsed) override { engine_.traffic().record_latency(elapsed); }

 private:
  struct Route {
    std::string_view path;
    Http2Service* service;
  };

  // Answers calls of unknown methods.
  class NoMethod final : public grpc::Method {
   protected:
    void begin(Http2Stream& stream) override;

   public:
    void completed(Http2Stream&, Instant) override {}
  };
  class NoGrpc final : public Http2Service {
   public:
    std::size_t body_max() const override { return 0; }
    void opened(Http2Stream& stream, Instant) override { stream.answer(415, {}, {}); }
    void completed(Http2Stream&, Instant) override {}
    void too_long(Http2Stream&, Instant) override {}
  };

  Engine& engine_;
  grpc::ShouldRateLimit should_rate_limit_;
  grpc::HoldSlot hold_slot_;
  grpc::HealthCheck health_check_;
  grpc::HealthList health_list_;
  grpc::HealthWatch health_watch_;
  grpc::ReflectionV1 reflection_v1_;
  grpc::ReflectionV1Alpha reflection_v1alpha_;
  NoMethod no_method_;
  NoGrpc no_grpc_;
  const std::array<Route, 7> routes_;
};

}  // namespace weir
