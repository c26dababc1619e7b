// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit.
//
// Thread rule: one core. Tested by grpc_door_test.cc.

#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "engine/asks/late_asks.h"
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

  std::size_t body_max() const override { return kPrefixSize + kMessageMax; }
  rls::RateLimitService& service() { return service_; }

 protected:
  std::optional<Outcome> call(Http2Stream& stream, std::string_view message, Instant now) override {
    CallPtr asked = service_.new_call();
    if (const auto error = asked->read(message)) return Outcome{.status = status_of(*error)};
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
    return {.status = status_of(*error)};
  }

  static Status status_of(const rls::ServiceError& error) {
    using enum rls::ServiceError::Kind;
    const Code code = error.kind == kInvalidArgument ? Code::kInvalidArgument
                      : error.kind == kUnavailable   ? Code::kUnavailable
                                                     : Code::kInternal;
    return {.code = code, .message = error.message};
  }

  rls::RateLimitService service_;
};

}  // namespace weir::grpc
