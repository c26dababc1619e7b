#include "server/http/http2_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/assert.h"
#include "proto/http/rate_limit_fields.h"

namespace weir {
namespace {

// Fields that HTTP/2 does not have (RFC 9113, 8.2.2).
bool is_of_connection(std::string_view name) { return name == "Connection" || name == "Upgrade"; }

// Puts a reply onto its stream. Its fields are written in lower case here.
class StreamLine final : public ReplyLine {
 public:
  explicit StreamLine(Http2Stream& stream) : stream_(stream) {}

  void add(const Reply& reply, const ReplyTerms& terms) override {
    std::array<char, 20> length{};
    const auto end =
        std::to_chars(length.data(), length.data() + length.size(), reply.body.size()).ptr;
    add_field("date", {terms.date.data(), terms.date.size()});
    if (!reply.content_type.empty()) add_field("content-type", reply.content_type);
    if (!has_no_body(reply.status)) add_field("content-length", {length.data(), end});

    std::vector<char> room;  // of the values
    if (reply.limit != nullptr) {
      room.resize(rate_limit_headers_max(*reply.limit));
      put_rate_limit_fields<FieldNames::kLower>(
          *reply.limit, room.data(),
          [this](std::string_view name, std::string_view value) { add_field(name, value); });
    }
    std::vector<std::string> names;
    names.reserve(reply.fields.size());
    for (const NameValue& field : reply.fields) {
      if (is_of_connection(field.name)) continue;
      add_field(names.emplace_back(to_ascii_lower(field.name)), field.value);
    }
    const auto fields = std::span<const Http2Field>(fields_).first(count_);
    const auto body = terms.send_body == SendBody::kYes ? reply.body : std::string_view();
    if (reply.lifetime == Reply::Lifetime::kProgram) {
      stream_.answer_constant(reply.status, fields, body);
    } else {
      stream_.answer(reply.status, fields, body);
    }
  }

  void park(std::unique_ptr<LateReply<ReplySink>> late, Instant) override {
    stream_.park(std::make_unique<OnStream>(std::move(late)));
  }
  bool waits() const override { return false; }  // streams do not wait for each other

 private:
  // A reply of the door that comes later, in the form that its stream keeps.
  class OnStream final : public LateReply<Http2Stream>, Waker {
   public:
    explicit OnStream(std::unique_ptr<LateReply<ReplySink>> late) : late_(std::move(late)) {
      late_->attach(*this);
    }

   private:
    void wake() noexcept override { due(); }
    bool try_write(Http2Stream& stream, Instant now) override {
      StreamLine line(stream);
      return late_->write(line, now);
    }

    const std::unique_ptr<LateReply<ReplySink>> late_;
  };

  void add_field(std::string_view name, std::string_view value) {
    WEIR_ASSERT(count_ < fields_.size());
    fields_[count_++] = {.name = name, .value = value};
  }

  Http2Stream& stream_;
  std::array<Http2Field, Http2Stream::kAnswerFieldsMax> fields_;
  std::size_t count_ = 0;
};

}  // namespace

void Http2Api::completed(Http2Stream& stream, Instant now) {
  const http1::RequestHead head = http1::head_of(stream.method(), stream.path(), stream.fields());
  const auto body = stream.body();
  StreamLine line(stream);
  Exchange exchange(line, AfterReply::kStay, now, head,
                    {.text = body.empty() ? no_body_.data() : body.data(),
                     .size = body.size(),
                     .readable = body.size() + Http2Stream::kBodyPadding});
  exchange.peer = stream.peer();
  exchange.headers = stream.fields();
  static_cast<void>(core_.answer(exchange));  // nothing before it waits on its stream
  core_.flush(line, now);
}

void Http2Api::too_long(Http2Stream& stream, Instant now) {
  const http1::RequestHead head = http1::head_of(stream.method(), stream.path(), stream.fields());
  StreamLine line(stream);
  const Exchange exchange(line, AfterReply::kStay, now, head, {});
  core_.reply_problem(exchange, http_problem(413, "The body is longer than 1 MiB."));
}

}  // namespace weir
