// Http2Stream: one request on an HTTP/2 connection, and its answer.
//
//   stream.answer(200, fields, "text");                          all at once
//   stream.begin(200, kFields);                                  or piece by piece,
//   std::memcpy(stream.append(size), message, size);             now or later
//   stream.finish(kTrailers);
//
// Texts of the request are valid as long as the stream. answer() copies its texts; begin() and
// finish() need constants. After a reset by the peer the stream does not exist any more.
//
// Thread rule: the core of its connection. Tested by http2_session_test.cc.

#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/late_reply.h"
#include "base/name_value.h"
#include "proto/input_buffer.h"
#include "weir/time.h"

namespace weir {

class Http2Service;
class Http2Session;

// The name in lower case.
using Http2Field = NameValue;

// check:allow(methods): half only read a member, and a reset ends request and answer together
class Http2Stream final : Waker, public boost::intrusive::list_base_hook<> {
 public:
  // The most fields of an answer; far more than any answer needs.
  static constexpr std::size_t kAnswerFieldsMax = 32;

  // Frees the request and its answer, and keeps some of the memory (base/pool.h).
  void retire();

  std::string_view method() const { return method_; }
  std::string_view path() const { return path_; }  // with the query
  // In the order sent, without fields that begin with a colon. But the authority is there as
  // `host`, as in HTTP/1.1.
  std::span<const Http2Field> fields() const { return fields_; }
  // The first field with that name. Empty if there is none.
  std::string_view field(std::string_view name) const;

  // The peer's address, if known.
  const std::optional<IpAddress>& peer() const;

  // The part of the body that has come and is not consumed. The kBodyPadding bytes behind it may be
  // read, like an InputBuffer's.
  static constexpr std::size_t kBodyPadding = InputBuffer::kPadding;
  std::span<char> body() { return body_; }
  void consume(std::size_t size);

  // Call each at most once; answer() replaces all others.
  // REQUIRES: begin() comes first; at most kAnswerFieldsMax fields; texts of begin() and finish()
  // outlive the stream; a status from 100 to 599
  void begin(int status, std::span<const Http2Field> fields);
  void finish(std::span<const Http2Field> trailers);
  // If the body is empty, the answer is only its head.
  void answer(int status, std::span<const Http2Field> fields, std::string_view body);
  // The same for a body that outlives the stream, which is not copied.
  void answer_constant(int status, std::span<const Http2Field> fields, std::string_view body);

  // Room for `size` more bytes of the answer's body, to be filled at once.
  // REQUIRES: not finished
  char* append(std::size_t size);

  // How many bytes of the body since begin() the peer has not taken yet.
  std::size_t waiting() const { return answer_text().size() - sent_; }
  bool is_begun() const { return is_begun_; }
  bool is_finished() const { return is_finished_; }
  // Whether the request is complete.
  bool is_complete() const { return is_complete_; }

  // The answer may take any time, but the peer must take what there is of it.
  // REQUIRES: the service ends it in closing().
  void keep_open();
  // When the request is not worth answering any more: then the service is told, and a stream that
  // it does not end is reset.
  void expire_at(Instant deadline);

  // The reply comes later: the stream keeps it, and drops it when the stream ends.
  // REQUIRES: nothing is parked
  void park(std::unique_ptr<LateReply<Http2Stream>> late);
  bool is_parked() const { return late_ != nullptr; }

 private:
  friend class Http2Session;

  void wake() noexcept override;  // called by a late reply
  void open(Http2Session& session, std::int32_t id);
  void allow(Instant deadline);
  void add_field(std::string_view name, std::string_view value);
  void close_head();
  // RFC 9113, 8.3.1: whether `host` and the authority are the same host.
  bool names_one_host() const;
  void append_body(std::string_view bytes);
  enum class Texts : std::uint8_t { kConstant, kCopied };
  enum class HasBody : std::uint8_t { kYes, kNo };
  void submit(int status, std::span<const Http2Field> fields, Texts texts, HasBody has_body);
  void go_on();
  ssize_t read(std::span<std::uint8_t> space, std::uint32_t& flags);
  void submit_trailers();
  std::string_view answer_text() const { return constant_.empty() ? answer_ : constant_; }

  struct FieldSize {
    std::uint32_t name;
    std::uint32_t value;
  };

  Http2Session* session_ = nullptr;
  Http2Service* service_ = nullptr;
  std::int32_t id_ = 0;

  // The request.
  std::string head_;  // names and values, one after the other, with room for more
  std::size_t head_size_ = 0;
  std::vector<FieldSize> sizes_;
  std::vector<Http2Field> fields_;  // views of head_
  std::string_view method_;
  std::string_view path_;
  std::string_view authority_;
  std::string body_;
  Instant deadline_ = Instant::max();
  Instant expires_at_ = Instant::max();  // the deadline is never later than this
  bool is_kept_open_ = false;
  std::size_t held_ = 0;  // bytes that count for the session's kBufferedMax

  // The answer.
  std::string answer_;
  std::string_view constant_;  // if not empty, the body of the answer
  std::size_t sent_ = 0;
  std::vector<Http2Field> trailers_;

  bool head_too_long_ = false;
  bool has_bad_field_ = false;
  bool is_complete_ = false;
  bool is_begun_ = false;
  bool is_finished_ = false;
  bool is_deferred_ = false;  // nghttp2 waits for go_on()

  std::unique_ptr<LateReply<Http2Stream>> late_;
};

// Http2Service: answers requests that come over HTTP/2. Http2Router: finds the service for a
// request.
//
// A service answers on the request's stream, at once or later, until closed(). Everything is called
// on the connection's core.
//
// Thread rule: one core. Tested by http2_session_test.cc.
class Http2Service {
 public:
  virtual ~Http2Service() = default;

  // The longest body() that may wait, in bytes.
  virtual std::size_t body_max() const = 0;

  // The head has come; a body may follow.
  virtual void opened(Http2Stream&, Instant) {}
  // More of the body has come.
  virtual void arrived(Http2Stream&, Instant) {}
  // The request is complete. Not called if the stream was answered before.
  virtual void completed(Http2Stream& stream, Instant now) = 0;
  // The body exceeds body_max(): an answer is due.
  virtual void too_long(Http2Stream& stream, Instant now) = 0;
  // The time of expire_at() has come before the answer ended: the answer is due now.
  virtual void expired(Http2Stream&, Instant) {}
  // The connection will close: a service that keeps the stream open finishes it now.
  virtual void closing(Http2Stream&) {}
};

class Http2Router {
 public:
  virtual ~Http2Router() = default;

  // The head of the request is complete. The service must outlive the connection.
  virtual Http2Service& route(const Http2Stream& stream) = 0;

  // The answers of services since the last call took this long.
  virtual void stamp(Duration) {}
};

}  // namespace weir
