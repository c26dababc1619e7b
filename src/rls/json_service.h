// JsonService: the rate limit service asked in JSON, as the reference service's /json is.
//
// Request and response are the protocol's messages as proto3 writes them in JSON. What
// the service has no answer to is 400 with a sentence of plain text.
//
// Thread rule: one core. Tested by json_service_test.cc.

#pragma once

#include <string>
#include <string_view>

#include "rls/rate_limit_service.h"

namespace weir::rls {

struct JsonAnswer {
  int status = 200;  // of HTTP: 429 if the whole is over its limit
  std::string_view content_type = "application/json";
  std::string_view body;  // valid until the next question
};

class JsonService {
 public:
  // `service` must outlive this.
  explicit JsonService(RateLimitService& service) : service_(service) {}

  JsonAnswer answer(std::string_view question, Instant now);

 private:
  JsonAnswer refuse(std::string_view sentence);

  RateLimitService& service_;
  Request request_;
  Response response_;
  std::string body_;
};

}  // namespace weir::rls
