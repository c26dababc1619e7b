// RespSession: one connection of a Redis client, without its socket
// (proto/pipelined_session.h).
//
// Commands are read where they were received, and a check allocates nothing.
//
// Bounds: commands of 1024 arguments of 64 KiB each, 1 MiB in all; before a client has
// authenticated, Redis's bounds (proto/resp/command_reader.h); and kLimits.
//
// Malformed bytes get one last error, and then the connection closes. Bytes that a web page can
// make a browser send (POST, Host:) close it without an error.
//
// Thread rule: the core that accepted the connection. Tested by resp_session_test.cc,
// resp_wait_test.cc and fuzz/resp_session_fuzz.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "proto/output_buffer.h"
#include "proto/pipelined_session.h"
#include "proto/resp/command_reader.h"
#include "server/resp/resp_core.h"

namespace weir {

class RespSession final : public PipelinedSession<OutputBuffer>, RespLine {
 public:
  // Redis never closes idle connections, and clients' pools rely on that.
  static constexpr PipelineLimits kLimits = {.output_max = std::size_t{256} << 10,
                                             .idle_max = std::chrono::minutes(10),
                                             .request_max = std::chrono::seconds(10),
                                             .stalled_max = std::chrono::seconds(30),
                                             .warm_max = std::chrono::seconds(2)};

  // `core` must outlive the session.
  RespSession(RespCore& core, const Peer& peer, Instant now);
  ~RespSession() override;
  RespSession(const RespSession&) = delete;
  RespSession& operator=(const RespSession&) = delete;

  // Replies tell no times, but rules have figures of them.
  void stamp(Duration elapsed) override { core_.stamp(elapsed); }

 private:
  Step handle_one(Instant now) override;
  void refuse_slow(Instant now) override;
  void flush(Instant now) override { core_.flush(*this, now); }

  OutputBuffer& end() override { return end_of_line(); }
  bool waits() const override { return PipelinedSession::waits(); }
  void park(std::unique_ptr<LateReply<OutputBuffer>> late, Instant now) override {
    PipelinedSession::park(std::move(late), now);
  }

  std::size_t held_besides() const override {
    return client_.transaction == nullptr ? 0 : client_.transaction->held();
  }

  Step answer(Instant now);
  // True if the next command repeats the last one, except for its key.
  bool repeat_throttle(Instant now);
  // The next command of an EXEC, which stays at the front of the input until all are answered.
  Step run_next(Instant now);
  Step refuse(std::string_view why, Instant now);

  RespCore& core_;
  resp::CommandReader reader_;
  RespClient client_;
  bool may_repeat_ = false;  // its last command was a throttle command
};

}  // namespace weir
