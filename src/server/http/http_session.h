// HttpSession: one HTTP/1.1 connection, without its socket (proto/pipelined_session.h).
//
// Requests are parsed where they were received, and a check allocates nothing.
//
// Bounds: heads of 32 KiB, targets of 16 KiB, bodies of 1 MiB, and kLimits.
//
// Malformed bytes get one last reply, and then the connection closes: nobody knows where the next
// request would begin. Replies to requests before them stand.
//
// Thread rule: the core that accepted the connection. Tested by http_session_test.cc,
// http_wait_test.cc and fuzz/http_session_fuzz.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "proto/http/http1_chunked.h"
#include "proto/http/http1_head.h"
#include "proto/pipelined_session.h"
#include "server/http/http_core.h"
#include "server/http/replies.h"

namespace weir {

// The known parts of a request whose body is still arriving. Its head stays at the front of the
// input and is parsed again when the body is there.
struct PendingRequest {
  std::size_t size = 0;     // of the whole request; 0, unknown, if it is chunked
  std::size_t decoded = 0;  // bytes of body so far, if chunked
  http1::ChunkDecoder decoder;
};

class HttpSession final : public PipelinedSession<Replies, ReplySink>, ReplyLine {
 public:
  static constexpr std::size_t kBodyMax = 1 << 20;
  static constexpr PipelineLimits kLimits = {.output_max = std::size_t{256} << 10,
                                             .idle_max = std::chrono::seconds(60),
                                             .request_max = std::chrono::seconds(10),
                                             .stalled_max = std::chrono::seconds(30),
                                             .warm_max = std::chrono::seconds(2)};

  // `core` must outlive the session.
  HttpSession(HttpCore& core, const Peer& peer, Instant now);
  ~HttpSession() override;
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void stamp(Duration elapsed) override;
  std::unique_ptr<Session> successor(Instant now) override;

 private:
  Step handle_one(Instant now) override;
  void refuse_slow(Instant now) override;
  void flush(Instant now) override { core_.flush(*this, now); }
  void writing(const Turn& turn) override;

  // A ReplyLine, for this connection's requests.
  void add(const Reply& reply, const ReplyTerms& terms) override;
  void park(std::unique_ptr<LateReply<ReplySink>> late, Instant now) override;
  bool waits() const override { return PipelinedSession::waits(); }

  void skip_empty_lines();
  Step take_chunks(const http1::RequestHead& head, Instant now);
  Step answer(const http1::RequestHead& head, std::size_t body_size, std::size_t size, Instant now);
  Step refuse(const http1::Refusal& refusal, Instant now);
  void invite_body(const http1::RequestHead& head, Instant now);

  HttpCore& core_;
  const std::optional<IpAddress> peer_;
  std::optional<PendingRequest> pending_;
  Duration waited_{0};  // the wait of the reply that was written last
  std::unique_ptr<Session> successor_;
};

}  // namespace weir
