// The rate limit service in JSON, as the reference service's /json speaks it.
//
// Request and response are the protocol's messages as proto3 writes them in JSON. A request that
// the service has no answer to gets 400 with a sentence of plain text.
//
// Thread rule: pure. Tested by json_text_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rls/rate_limit_call.h"

namespace weir::rls {

struct JsonAnswer {
  int status = 200;  // of HTTP: 429 if the whole is over its limit
  std::string_view content_type = "application/json";
  std::string body;
};

// The refusal, if `question` is no request.
std::optional<JsonAnswer> read_json(std::string_view question, Request& request);

// REQUIRES: the call is decided
JsonAnswer to_json(const RateLimitCall& call);

}  // namespace weir::rls
