// Http2Service: who answers requests that come over HTTP/2; and Http2Router, which
// finds the one for a request.
//
// A service answers on the stream it is given, at once or later; a later answer is
// possible until closed(). Everything is called on the core of the connection.
//
// Thread rule: one core. Tested by http2_session_test.cc.

#pragma once

#include <cstddef>

#include "proto/http2/http2_stream.h"
#include "weir/time.h"

namespace weir {

class Http2Service {
 public:
  virtual ~Http2Service() = default;

  // The longest body() that may wait, in bytes.
  virtual std::size_t body_max() const = 0;

  // The head has come; the body may follow.
  virtual void opened(Http2Stream&, Instant) {}
  // More of the body has come.
  virtual void arrived(Http2Stream&, Instant) {}
  // Nothing more will come. Not called if the stream has been answered before.
  virtual void completed(Http2Stream& stream, Instant now) = 0;
  // The body exceeds body_max(): an answer is due.
  virtual void too_long(Http2Stream& stream, Instant now) = 0;
  // The time that expire_at() set has come before the end of the answer, which is now due.
  virtual void expired(Http2Stream&, Instant) {}
  // The connection will close: whoever keeps the stream open finishes it now.
  virtual void closing(Http2Stream&) {}
};

class Http2Router {
 public:
  virtual ~Http2Router() = default;

  // The head of the request is complete. The service must outlive the connection.
  virtual Http2Service& route(const Http2Stream& stream) = 0;

  // What services have answered since the last call took this long.
  virtual void stamp(Duration) {}
};

}  // namespace weir
