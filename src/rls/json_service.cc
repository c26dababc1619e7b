#include "rls/json_service.h"

#include <google/protobuf/util/json_util.h>

namespace weir::rls {

JsonAnswer JsonService::answer(std::string_view question, Instant now) {
  request_.Clear();
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({question.data(), question.size()}, &request_);
  if (!parsed.ok()) {
    return refuse("the body is no RateLimitRequest in JSON: " + parsed.message().ToString());
  }
  if (const auto error = service_.should_rate_limit(request_, response_, now)) {
    return refuse(error->message);
  }
  body_.clear();
  if (!google::protobuf::util::MessageToJsonString(response_, &body_).ok()) {
    return refuse("the answer cannot be written in JSON");  // a name that is no UTF-8
  }
  return {.status = response_.overall_code() == Response::OVER_LIMIT ? 429 : 200, .body = body_};
}

JsonAnswer JsonService::refuse(std::string_view sentence) {
  body_.assign(sentence).append("\n");
  return {.status = 400, .content_type = "text/plain; charset=utf-8", .body = body_};
}

}  // namespace weir::rls
