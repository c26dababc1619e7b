// HttpSession: one HTTP/1.1 connection, without its socket.
//
// Bytes come in through the Session interface; every complete request among them is
// answered at once, in order, and all answers to one read leave in one piece. Requests
// are parsed where they were received, and a check allocates nothing.
//
// Bounds: heads of 8 KiB, targets of 4 KiB, bodies of 1 MiB; replies of kOutputMax
// waiting, beyond which nothing more is read or answered until the peer takes some;
// kIdleMax between requests, kRequestMax for a request to arrive, kStalledMax for the
// peer to take something of what waits for it. After kWarmMax without a request the
// buffers are given back: an idle connection is this object and no more.
//
// Malformed bytes get one last reply, and then the connection closes: where the next
// request would begin is anybody's guess. Replies to requests before them stand.
//
// Thread rule: the core that accepted the connection. Tested by http_session_test.cc
// and fuzz/http_session_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "proto/http1_chunked.h"
#include "proto/http1_head.h"
#include "proto/input_buffer.h"
#include "proto/session.h"
#include "server/http/http_core.h"
#include "server/http/replies.h"

namespace weir {

// What is known of a request whose body is still arriving. Its head stays in front of
// the input and is parsed again when the body is there.
struct PendingRequest {
  std::size_t size = 0;     // bytes of the whole; unknown (0) if chunked
  std::size_t decoded = 0;  // bytes of body so far, if chunked
  http1::ChunkDecoder decoder;
};

class HttpSession final : public Session {
 public:
  static constexpr std::size_t kBodyMax = 1 << 20;
  static constexpr std::size_t kOutputMax = 1 << 20;
  static constexpr Duration kIdleMax = std::chrono::seconds(60);
  static constexpr Duration kRequestMax = std::chrono::seconds(10);
  static constexpr Duration kStalledMax = std::chrono::seconds(30);
  static constexpr Duration kWarmMax = std::chrono::seconds(2);

  // `core` must outlive the session.
  HttpSession(HttpCore& core, const Peer& peer, Instant now);
  ~HttpSession() override;
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void attach(Waker&) override {}
  void woken(Instant) override {}
  std::span<char> input_space() override;
  void received(std::size_t size, Instant now) override;
  void peer_closed(Instant now) override;
  std::string_view output() const override { return out_.view(); }
  void sent(std::size_t size, Instant now) override;
  void stamp(Duration elapsed) override {
    out_.stamp(elapsed);
    core_.stamp(elapsed);
  }
  Instant deadline() const override;
  void expired(Instant now) override;
  void drain() override;
  bool finished() const override { return finished_; }

 private:
  bool is_warm() const { return in_.holds_memory() || out_.holds_memory(); }
  void cool();
  void answer_requests(Instant now);
  void skip_empty_lines();
  // These return whether to go on with what is behind the request.
  bool answer_one(Instant now);
  bool take_chunks(const http1::RequestHead& head, Instant now);
  bool answer(const http1::RequestHead& head, std::size_t body_size, std::size_t size, Instant now);
  bool refuse(const http1::Refusal& refusal, Instant now);
  void invite_body(const http1::RequestHead& head, Instant now);

  HttpCore& core_;
  const std::optional<IpAddress> peer_;
  InputBuffer in_;
  Replies out_;
  std::optional<PendingRequest> pending_;
  bool held_back_ = false;  // input waits until the peer takes output
  bool peer_closed_ = false;
  bool draining_ = false;
  bool finished_ = false;
  Instant idle_since_;                    // the last request, or the beginning
  std::optional<Instant> request_since_;  // the first bytes of a request not complete yet
  Instant taken_since_;                   // the peer took output, or there was none to take
};

}  // namespace weir
