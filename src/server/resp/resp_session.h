// RespSession: one connection of a Redis client, without its socket.
//
// Bytes come in through the Session interface; every complete command among them is
// answered at once, in order, and all answers to one read leave in one piece. Commands are
// read where they were received, and a check allocates nothing.
//
// Bounds: commands of 1024 arguments of 64 KiB each, 1 MiB in all, and what Redis allows
// before a client has authenticated (proto/resp/command_reader.h); replies of kOutputMax
// waiting, beyond which nothing more is read or answered until the peer takes some;
// kIdleMax between commands, kCommandTimeMax for one to arrive, kStalledMax for the peer
// to take something of what waits for it. After kWarmMax without a command the buffers are
// given back: an idle connection is this object and no more.
//
// Malformed bytes get one last error, and then the connection closes. What a web page can
// make a browser send (POST, Host:) closes it without one.
//
// Thread rule: the core that accepted the connection. Tested by resp_session_test.cc
// and fuzz/resp_session_fuzz.cc.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "proto/input_buffer.h"
#include "proto/output_buffer.h"
#include "proto/resp/command_reader.h"
#include "proto/session.h"
#include "server/resp/resp_core.h"

namespace weir {

class RespSession final : public Session {
 public:
  static constexpr std::size_t kOutputMax = std::size_t{1} << 20;
  // Redis never closes idle connections, and pools of clients rely on their being there.
  static constexpr Duration kIdleMax = std::chrono::minutes(10);
  static constexpr Duration kCommandTimeMax = std::chrono::seconds(10);
  static constexpr Duration kStalledMax = std::chrono::seconds(30);
  static constexpr Duration kWarmMax = std::chrono::seconds(2);

  // `core` must outlive the session.
  RespSession(RespCore& core, const Peer& peer, Instant now);
  ~RespSession() override;
  RespSession(const RespSession&) = delete;
  RespSession& operator=(const RespSession&) = delete;

  void attach(Waker&) override {}
  void woken(Instant) override {}
  std::span<char> input_space() override;
  void received(std::size_t size, Instant now) override;
  void peer_closed(Instant now) override;
  std::string_view output() const override { return out_.view(); }
  void sent(std::size_t size, Instant now) override;
  void stamp(Duration elapsed) override { core_.stamp(elapsed); }
  Instant deadline() const override;
  void expired(Instant now) override;
  void drain() override;
  bool finished() const override { return finished_; }

 private:
  bool is_warm() const { return in_.holds_memory() || out_.holds_memory(); }
  void answer_commands(Instant now);
  // These return whether to go on with what is behind the command.
  bool answer_one(Instant now);
  bool answer(Instant now);
  bool refuse(std::string_view why, Instant now);

  RespCore& core_;
  InputBuffer in_;
  OutputBuffer out_;
  resp::CommandReader reader_;
  RespClient client_;
  bool held_back_ = false;  // input waits until the peer takes output
  bool peer_closed_ = false;
  bool draining_ = false;
  bool finished_ = false;
  Instant idle_since_;                    // the last command, or the beginning
  std::optional<Instant> command_since_;  // the first bytes of a command not complete yet
  Instant taken_since_;                   // the peer took output, or there was none to take
};

}  // namespace weir
