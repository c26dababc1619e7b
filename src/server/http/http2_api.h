// Http2Api: the HTTP routes over HTTP/2. Each request becomes an Exchange and each reply
// goes onto its stream; the rest is HttpCore's.
//
// A reply lacks X-Process-Time: its head is compressed before the time is known.
//
// Thread rule: one core. Tested by http2_api_test.cc.

#pragma once

#include <array>
#include <cstddef>

#include "proto/http2/http2_stream.h"
#include "server/http/http_core.h"

namespace weir {

class Http2Api final : public Http2Service {
 public:
  static constexpr std::size_t kBodyMax = 1 << 20;

  // `core` must outlive the service.
  explicit Http2Api(HttpCore& core) : core_(core) {}

  std::size_t body_max() const override { return kBodyMax; }
  void completed(Http2Stream& stream, Instant now) override;
  void too_long(Http2Stream& stream, Instant now) override;

 private:
  HttpCore& core_;
  std::array<char, Http2Stream::kBodyPadding> no_body_{};
};

}  // namespace weir
