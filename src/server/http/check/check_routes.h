// The routes that spend, ask and reset. The maker of a door adds those that the node can serve.
//
// Thread rule: the core's. Tested by http_check_test.cc, tests/scenarios/http_auth.yaml and
// tests/scenarios/http_check.yaml.

#pragma once

#include <cstdint>
#include <memory>

#include "rls/rate_limit_service.h"

namespace weir {

class CheckReader;
class HttpCore;

// kResets: only /v1/reset; kAll: also the routes that spend, hold and ask.
enum class CheckRoutes : std::uint8_t { kAll, kResets };
void add_check_routes(HttpCore& core, CheckRoutes which);

// /v1/reserve and /v1/commit: costs that are known when the work is done. /v1/acquire and
// /v1/release: slots for requests that may be under way at once.
// `reader` is the core's.
void add_hold_routes(HttpCore& core, std::shared_ptr<CheckReader> reader);

// /v1/limits: the caller's limits, and what is left of them.
void add_limits_route(HttpCore& core);

// /auth: whether the request that a proxy holds may pass.
void add_auth_route(HttpCore& core);

// /json: Envoy's rate limit service for callers without gRPC. The service is the core's, and must
// outlive it.
void add_json_route(HttpCore& core, rls::RateLimitService& service);

}  // namespace weir
