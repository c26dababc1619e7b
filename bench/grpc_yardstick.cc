// What our gRPC door is measured against: the same service on grpc++, as its users would
// write it for speed. One completion queue, one thread, calls that are used again.
//
//   grpc_yardstick HOST:PORT
//
// It decides as little as can be: a map from the descriptor's values to a count.

#include <envoy/service/ratelimit/v3/rls.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using envoy::service::ratelimit::v3::RateLimitService;

constexpr std::uint32_t kLimit = 1'000'000'000;
// More calls than this wait in the sockets.
constexpr int kCallsWaiting = 512;

class Counters {
 public:
  void decide(const RateLimitRequest& request, RateLimitResponse& response) {
    for (const auto& descriptor : request.descriptors()) {
      key_.assign(request.domain());
      for (const auto& entry : descriptor.entries()) key_.append(entry.value()).append(1, '\0');
      const std::uint32_t count = ++counts_[key_];
      auto& status = *response.add_statuses();
      status.set_code(count <= kLimit ? RateLimitResponse::OK : RateLimitResponse::OVER_LIMIT);
      status.set_limit_remaining(kLimit - count);
      status.mutable_current_limit()->set_requests_per_unit(kLimit);
      status.mutable_current_limit()->set_unit(RateLimitResponse::RateLimit::MINUTE);
      status.mutable_duration_until_reset()->set_seconds(60);
      response.set_overall_code(status.code());
    }
  }

 private:
  std::string key_;
  std::unordered_map<std::string, std::uint32_t> counts_;
};

class Call {
 public:
  Call(RateLimitService::AsyncService& service, grpc::ServerCompletionQueue& queue,
       Counters& counters)
      : service_(service), queue_(queue), counters_(counters) {
    wait();
  }

  void proceed() {
    if (answered_) return wait();
    answered_ = true;
    response_.Clear();
    counters_.decide(request_, response_);
    writer_->Finish(response_, grpc::Status::OK, this);
  }

 private:
  void wait() {
    answered_ = false;
    writer_.reset();
    context_ = std::make_unique<grpc::ServerContext>();
    writer_ = std::make_unique<grpc::ServerAsyncResponseWriter<RateLimitResponse>>(context_.get());
    service_.RequestShouldRateLimit(context_.get(), &request_, writer_.get(), &queue_, &queue_,
                                    this);
  }

  RateLimitService::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  Counters& counters_;
  std::unique_ptr<grpc::ServerContext> context_;
  std::unique_ptr<grpc::ServerAsyncResponseWriter<RateLimitResponse>> writer_;
  RateLimitRequest request_;
  RateLimitResponse response_;
  bool answered_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: grpc_yardstick HOST:PORT\n"), 2;
  RateLimitService::AsyncService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;

  Counters counters;
  std::deque<Call> calls;
  for (int i = 0; i < kCallsWaiting; ++i) calls.emplace_back(service, *queue, counters);
  void* call = nullptr;
  for (bool ok = false; queue->Next(&call, &ok);) static_cast<Call*>(call)->proceed();
}
