#include "server/grpc/grpc_method.h"

namespace weir::grpc {
namespace {

constexpr Status kBadTimeout = {.code = Code::kInternal, .message = "malformed grpc-timeout"};
constexpr Status kTooLate = {.code = Code::kDeadlineExceeded,
                             .message = "the deadline passed before the call was answered"};
constexpr Status kOneMessage = {.code = Code::kInternal,
                                .message = "the method takes exactly one message"};

}  // namespace

void Method::opened(Http2Stream& stream, Instant now) {
  if (const auto text = stream.field("grpc-timeout"); !text.empty()) {
    const auto timeout = parse_timeout(text);
    if (!timeout) return refuse(stream, kBadTimeout);
    if (*timeout <= Duration::zero()) return refuse(stream, kTooLate);
    stream.expire_at(now + *timeout);
  }
  begin(stream);
}

void Method::too_long(Http2Stream& stream, Instant) { refuse_message(stream, Framing::kTooLong); }

void Method::expired(Http2Stream& stream, Instant) {
  return stream.is_begun() ? end_reply(stream, kTooLate) : refuse(stream, kTooLate);
}

// Refuses a message before it has come, if its head is enough for that.
void UnaryMethod::arrived(Http2Stream& stream, Instant) {
  const auto framing = find_message(stream.body()).framing;
  if (framing == Framing::kCompressed || framing == Framing::kTooLong) {
    refuse_message(stream, framing);
  }
}

void UnaryMethod::completed(Http2Stream& stream, Instant now) {
  const auto body = stream.body();
  if (body.empty()) return refuse(stream, kOneMessage);
  const Message message = find_message(body);
  if (message.framing != Framing::kComplete) return refuse_message(stream, message.framing);
  if (message.size() != body.size()) return refuse(stream, kOneMessage);
  const auto outcome = call(stream, message.payload, now);
  if (outcome) reply(stream, *outcome);
}

void UnaryMethod::reply(Http2Stream& stream, const Outcome& outcome) {
  if (outcome.status.code != Code::kOk) return refuse(stream, outcome.status);
  begin_reply(stream);
  append_message(stream, *outcome.reply);
  end_reply(stream, outcome.status);
}

}  // namespace weir::grpc
