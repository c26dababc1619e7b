// Http2Door: makes the HTTP/2 sessions of one core, and keeps what these share.
//
//   Http2Door door(router, options);
//
// Sessions of one core never run at the same time. So they share the pool for nghttp2, free
// streams, and the buffer into which bytes are read. Nothing stays in that buffer: a session copies
// bytes that nghttp2 has not taken.
//
// Thread rule: the core that owns it. Tested by http2_session_test.cc.

#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/pool.h"
#include "base/prng.h"
#include "proto/http2/block_pool.h"
#include "proto/http2/http2_stream.h"
#include "proto/session.h"

namespace weir {

using Http2StreamPool = Pool<Http2Stream, 1024>;
struct Http2Options {
  // The age at which connections close, so that clients come back and find new nodes. Each gets up
  // to a tenth more or less, so that they do not all come back at once. Zero: any age.
  Duration age_max{0};
  std::uint64_t seed = 0;  // of these differences
};

class Http2Door final : public SessionFactory {
 public:
  static constexpr std::size_t kReadMax = 64 << 10;

  // `router` must outlive the door, and the door its sessions.
  explicit Http2Door(Http2Router& router, const Http2Options& options = {});

  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override;

  Http2Router& router() { return router_; }
  Http2StreamPool& streams() { return streams_; }
  std::span<char> read_buffer() { return {read_buffer_.get(), kReadMax}; }

  // Null if memory is short.
  nghttp2_session* make_nghttp2_session(void* user_data);

 private:
  struct Deleter {
    void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
  };

  Instant closing_time(Instant now);

  Http2Router& router_;
  const Duration age_max_;
  Prng random_;  // spreads closing times
  BlockPool pool_;
  Http2StreamPool streams_;
  std::unique_ptr<nghttp2_option, Deleter> option_;
  std::unique_ptr<char[]> read_buffer_;
};

}  // namespace weir
