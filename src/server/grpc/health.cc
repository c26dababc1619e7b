#include "server/grpc/health.h"

#include <algorithm>
#include <array>
#include <string>

#include "server/grpc/should_rate_limit.h"

namespace weir::grpc {
namespace {

using Response = ::grpc::health::v1::HealthCheckResponse;

constexpr std::array<std::string_view, 3> kNames = {"", "ratelimit", ShouldRateLimit::kService};

constexpr Status kNoSuchService = {.code = Code::kNotFound, .message = "unknown service"};

bool is_known(std::string_view service) { return std::ranges::count(kNames, service) > 0; }

Response::ServingStatus status_of(const GrpcNode& node) {
  return node.draining() ? Response::NOT_SERVING : Response::SERVING;
}

}  // namespace

std::optional<UnaryMethod::Outcome> HealthCheck::call(Http2Stream&, std::string_view message,
                                                      Instant) {
  if (!parse(request_, message)) return Outcome{.status = kUnreadable};
  if (!is_known(request_.service())) return Outcome{.status = kNoSuchService};
  response_.set_status(status_of(node_));
  return Outcome{.reply = &response_};
}

std::optional<UnaryMethod::Outcome> HealthList::call(Http2Stream&, std::string_view message,
                                                     Instant) {
  if (!parse(request_, message)) return Outcome{.status = kUnreadable};
  for (const std::string_view name : kNames) {
    (*response_.mutable_statuses())[std::string(name)].set_status(status_of(node_));
  }
  return Outcome{.reply = &response_};
}

void HealthWatch::arrived(Http2Stream& stream, Instant) {
  if (stream.is_begun()) return;
  const Message message = find_message(stream.body());
  if (message.framing == Framing::kPartial) return;
  if (message.framing != Framing::kComplete) return refuse_message(stream, message.framing);
  if (!parse(request_, message.payload)) return refuse(stream, kUnreadable);
  response_.set_status(is_known(request_.service()) ? status_of(node_) : Response::SERVICE_UNKNOWN);
  begin_reply(stream);
  append_message(stream, response_);
  stream.keep_open();
}

void HealthWatch::completed(Http2Stream& stream, Instant) {
  if (!stream.is_begun()) refuse_message(stream, Framing::kPartial);
}

void HealthWatch::closing(Http2Stream& stream) {
  if (!stream.is_begun()) return;  // its request is still coming; the answer will come in time
  response_.set_status(Response::NOT_SERVING);
  append_message(stream, response_);
  end_reply(stream, kClosing);
}

}  // namespace weir::grpc
