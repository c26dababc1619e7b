// grpc.health.v1.Health: Check, List and Watch.
//
// The server as a whole is called "", its one service by its name or, as with the
// reference service, "ratelimit". Before the node stops all are NOT_SERVING.
//
// Thread rule: one core. Tested by grpc_health_test.cc.

#pragma once

#include <grpc/health/v1/health.pb.h>

#include <string_view>

#include "server/grpc/grpc_method.h"
#include "server/grpc/grpc_node.h"

namespace weir::grpc {

inline constexpr std::string_view kHealthService = "grpc.health.v1.Health";

class HealthCheck final : public UnaryMethod {
 public:
  explicit HealthCheck(const GrpcNode& node) : node_(node) {}

 protected:
  std::optional<Outcome> call(Http2Stream& stream, std::string_view message, Instant now) override;

 private:
  const GrpcNode& node_;
  ::grpc::health::v1::HealthCheckRequest request_;
  ::grpc::health::v1::HealthCheckResponse response_;
};

class HealthList final : public UnaryMethod {
 public:
  explicit HealthList(const GrpcNode& node) : node_(node) {}

 protected:
  std::optional<Outcome> call(Http2Stream& stream, std::string_view message, Instant now) override;

 private:
  const GrpcNode& node_;
  ::grpc::health::v1::HealthListRequest request_;
  ::grpc::health::v1::HealthListResponse response_;
};

// Says how it is at once, and stays open: the next word comes when the node stops.
class HealthWatch final : public Method {
 public:
  explicit HealthWatch(const GrpcNode& node) : node_(node) {}

  void arrived(Http2Stream& stream, Instant now) override;
  void completed(Http2Stream& stream, Instant now) override;
  void closing(Http2Stream& stream) override;

 private:
  const GrpcNode& node_;
  ::grpc::health::v1::HealthCheckRequest request_;
  ::grpc::health::v1::HealthCheckResponse response_;
};

}  // namespace weir::grpc
