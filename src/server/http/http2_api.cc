#include "server/http/http2_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "base/ascii.h"
#include "base/assert.h"

namespace weir {
namespace {

http1::RequestHead head_of(const Http2Stream& stream) {
  return {.method = http1::method_from_name(stream.method()),
          .method_text = stream.method(),
          .target = stream.path(),
          .host = stream.field("host"),
          .accept = stream.field("accept"),
          .authorization = stream.field("authorization"),
          .origin = stream.field("origin")};
}

// Takes one reply and puts it onto a stream.
class StreamReply final : public ReplySink {
 public:
  explicit StreamReply(Http2Stream& stream) : stream_(stream) {}

  void add(const ReplyHead& head, std::string_view body, const HttpDate& date) override {
    std::array<char, 20> length{};
    const auto end = std::to_chars(length.data(), length.data() + length.size(), body.size()).ptr;
    add_field("date", {date.data(), date.size()});
    if (!head.content_type.empty()) add_field("content-type", head.content_type);
    if (head.status != 204) add_field("content-length", {length.data(), end});
    const std::string lines = to_ascii_lower_names(head.fields);
    add_lines(lines);
    const bool has_body = head.send_body == SendBody::kYes;
    stream_.answer(head.status, {fields_.data(), count_}, has_body ? body : std::string_view());
  }

 private:
  void add_field(std::string_view name, std::string_view value) {
    WEIR_ASSERT(count_ < fields_.size());
    fields_[count_++] = {.name = name, .value = value};
  }

  // "X-A: b\r\nY: c\r\n" with its names in lower case.
  static std::string to_ascii_lower_names(std::string_view lines) {
    std::string text(lines);
    bool in_name = true;
    for (char& c : text) {
      if (c == ':') in_name = false;
      if (c == '\n') in_name = true;
      if (in_name) c = ascii_lower(c);
    }
    return text;
  }

  void add_lines(std::string_view lines) {
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find("\r\n"));
      lines.remove_prefix(line.size() + 2);
      const auto colon = line.find(": ");
      add_field(line.substr(0, colon), line.substr(colon + 2));
    }
  }

  Http2Stream& stream_;
  std::array<Http2Field, Http2Stream::kAnswerFieldsMax> fields_;
  std::size_t count_ = 0;
};

}  // namespace

void Http2Api::completed(Http2Stream& stream, Instant now) {
  Engine& engine = core_.engine();
  engine.resume(std::static_pointer_cast<Visit>(stream.resume()));
  const http1::RequestHead head = head_of(stream);
  const auto body = stream.body();
  StreamReply out(stream);
  Exchange exchange{.head = head,
                    .body = {.text = body.empty() ? no_body_.data() : body.data(),
                             .size = body.size(),
                             .readable = body.size() + Http2Stream::kBodyPadding},
                    .now = now,
                    .out = out,
                    .peer = stream.peer(),
                    .headers = stream.fields()};
  core_.answer(exchange);
  core_.flush(out, now);
  if (engine.waits()) stream.wait(engine.pause(stream));
}

void Http2Api::too_long(Http2Stream& stream, Instant now) {
  const http1::RequestHead head = head_of(stream);
  StreamReply out(stream);
  const Exchange exchange{.head = head, .body = {}, .now = now, .out = out};
  core_.reply_problem(exchange, http_problem(413, "The body is longer than 1 MiB."));
}

}  // namespace weir
