// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit.
//
// Thread rule: one core. Tested by grpc_door_test.cc.

#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "rls/rate_limit_service.h"
#include "server/grpc/grpc_method.h"

namespace weir::grpc {

class ShouldRateLimit final : public UnaryMethod {
 public:
  static constexpr std::string_view kService = "envoy.service.ratelimit.v3.RateLimitService";
  static constexpr std::string_view kPath =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  ShouldRateLimit(Engine& engine, BlockList& blocks, RuleSetPtr rules, const RlsOptions& options)
      : engine_(engine), service_(engine, blocks, std::move(rules), options) {}

  void use_rules(RuleSetPtr rules) { service_.use_rules(std::move(rules)); }

 protected:
  std::optional<Outcome> call(Http2Stream& stream, std::string_view message, Instant now) override {
    if (!parse(request_, message)) return Outcome{.status = kUnreadable};
    engine_.resume(std::static_pointer_cast<Visit>(stream.resume()));
    const auto error = service_.should_rate_limit(request_, response_, now);
    if (engine_.waits()) {
      stream.wait(engine_.pause(stream));
      return std::nullopt;
    }
    if (!error) return Outcome{.reply = &response_};
    const bool is_fault_of_asker = error->kind == rls::ServiceError::Kind::kInvalidArgument;
    return Outcome{
        .status = {.code = is_fault_of_asker ? Code::kInvalidArgument : Code::kUnavailable,
                   .message = error->message}};
  }

 private:
  Engine& engine_;
  rls::RateLimitService service_;
  rls::Request request_;  // both are kept for their memory
  rls::Response response_;
};

}  // namespace weir::grpc
