// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit.
//
// Thread rule: one core. Tested by grpc_door_test.cc.

#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/late_asks.h"
#include "rls/rate_limit_service.h"
#include "server/grpc/grpc_method.h"

namespace weir::grpc {

class ShouldRateLimit final : public UnaryMethod {
 public:
  static constexpr std::string_view kService = "envoy.service.ratelimit.v3.RateLimitService";
  static constexpr std::string_view kPath =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  ShouldRateLimit(Engine& engine, BlockList& blocks, RuleSetPtr rules, const RlsOptions& options)
      : service_(engine, blocks, std::move(rules), options) {}

  void use_rules(RuleSetPtr rules) { service_.use_rules(std::move(rules)); }

 protected:
  std::optional<Outcome> call(Http2Stream& stream, std::string_view message, Instant now) override {
    CallPtr asked = service_.new_call();
    if (!parse(asked->request, message)) return Outcome{.status = kUnreadable};
    if (asked->decide(now) != Asks::Progress::kWaits) {
      reply(stream, outcome_of(*asked));
    } else {
      stream.park(late_reply<Http2Stream>(
          std::move(asked), [](Http2Stream& to, Instant, const rls::RateLimitCall& decided) {
            reply(to, outcome_of(decided));
          }));
    }
    return std::nullopt;
  }

 private:
  using CallPtr = rls::RateLimitService::CallPtr;

  static Outcome outcome_of(const rls::RateLimitCall& call) {
    const auto& error = call.error();
    if (!error) return {.reply = &call.response};
    const bool is_fault_of_asker = error->kind == rls::ServiceError::Kind::kInvalidArgument;
    return {.status = {.code = is_fault_of_asker ? Code::kInvalidArgument : Code::kUnavailable,
                       .message = error->message}};
  }

  rls::RateLimitService service_;
};

}  // namespace weir::grpc
