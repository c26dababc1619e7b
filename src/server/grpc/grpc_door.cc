#include "server/grpc/grpc_door.h"

#include <google/protobuf/stubs/logging.h>

namespace weir {
namespace {

constexpr grpc::Status kNoSuchMethod = {.code = grpc::Code::kUnimplemented,
                                        .message = "unknown service or method"};

}  // namespace

GrpcDoor::GrpcDoor(const GrpcNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules,
                   const RlsOptions& options)
    : engine_(engine),
      should_rate_limit_(engine, blocks, rules, options),
      hold_slot_(engine, blocks, std::move(rules)),
      health_check_(node),
      health_list_(node),
      health_watch_(node),
      routes_{{{grpc::ShouldRateLimit::kPath, &should_rate_limit_},
               {grpc::HoldSlot::kPath, &hold_slot_},
               {"/grpc.health.v1.Health/Check", &health_check_},
               {"/grpc.health.v1.Health/List", &health_list_},
               {"/grpc.health.v1.Health/Watch", &health_watch_},
               {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", &reflection_v1_},
               {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                &reflection_v1alpha_}}} {
  // Else each message with invalid UTF-8 writes a line to stderr; its sender gets an error.
  google::protobuf::SetLogHandler(nullptr);
}

Http2Service& GrpcDoor::route(const Http2Stream& stream) {
  if (stream.method() != "POST" || !grpc::is_grpc(stream.field("content-type"))) return no_grpc_;
  for (const Route& route : routes_) {
    if (route.path == stream.path()) return *route.service;
  }
  return no_method_;
}

void GrpcDoor::NoMethod::begin(Http2Stream& stream) { grpc::refuse(stream, kNoSuchMethod); }

}  // namespace weir
