// GrpcNode: what the gRPC doors of all cores share.
//
// Thread rule: any thread. Tested by grpc_health_test.cc.

#pragma once

#include <atomic>

namespace weir {

class GrpcNode {
 public:
  // From now on health checks say NOT_SERVING.
  // Relaxed: a fact by itself that orders nothing else.
  void start_draining() { draining_.store(true, std::memory_order_relaxed); }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> draining_{false};
};

}  // namespace weir
