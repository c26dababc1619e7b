#include "rls/json_text.h"

#include <google/protobuf/util/json_util.h>

namespace weir::rls {
namespace {

// Bytes: a reason may repeat what the request says.
constexpr std::size_t kReasonMax = 500;

JsonAnswer refused(std::string_view sentence) {
  return {.status = 400,
          .content_type = "text/plain; charset=utf-8",
          .body = std::string(sentence) + "\n"};
}

}  // namespace

std::optional<JsonAnswer> read_json(std::string_view question, Request& request) {
  request.Clear();
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({question.data(), question.size()}, &request);
  if (parsed.ok()) return std::nullopt;
  std::string why = parsed.message().ToString();
  if (why.size() > kReasonMax) why = "it has a long name or value that does not belong there";
  return refused("the body is no RateLimitRequest in JSON: " + why);
}

JsonAnswer to_json(const RateLimitCall& call) {
  if (const auto& error = call.error()) return refused(error->message);
  JsonAnswer answer;
  if (!google::protobuf::util::MessageToJsonString(call.response, &answer.body).ok()) {
    return refused("the answer cannot be written in JSON");  // a name that is no UTF-8
  }
  if (call.response.overall_code() == Response::OVER_LIMIT) answer.status = 429;
  return answer;
}

}  // namespace weir::rls
