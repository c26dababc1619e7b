// grpc.health.v1.Health: Check, List and Watch.
//
// The name "" means the whole server. Its one service has its own name or, as in the reference
// service, "ratelimit". Before the node stops, both are NOT_SERVING.
//
// Thread rule: one core. Tested by grpc_health_test.cc.

#pragma once

#include <grpc/health/v1/health.pb.h>

#include <atomic>
#include <string_view>

#include "server/grpc/grpc_method.h"

namespace weir {

// Shared by the gRPC doors of all cores. Any thread may use it.
class GrpcNode {
 public:
  // From now on health checks say NOT_SERVING.
  // Relaxed: it orders nothing else.
  void start_draining() { draining_.store(true, std::memory_order_relaxed); }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> draining_{false};
};

namespace grpc {

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

// Tells the state at once, and stays open: it tells the next state when the node stops.
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

}  // namespace grpc
}  // namespace weir
