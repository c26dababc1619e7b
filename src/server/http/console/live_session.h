// LiveSession: the WebSocket of one console. It gets the message of each second, and says nothing.
//
//   HttpSession ──101──> LiveSession      takes over the connection, and the bytes behind the
//                                         request
//
// Messages are shared with all other sessions and not copied. A session that has not taken a
// message when the next one comes gets the newest later, and never those between. So a slow reader
// holds up nobody and costs no memory. A session pings every kPingEvery, and ends when no pong has
// come for kSilenceMax. It reads and answers kFramesMax frames a second of a peer that makes work.
//
// If the client needed a console session to come in, it needs one to stay.
//
// Thread rule: the core that accepted the connection.
// Tested by live_session_test.cc, fuzz/live_session_fuzz.cc and tests/e2e/console_test.py.

#pragma once

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "proto/session.h"
#include "proto/websocket/frames.h"
#include "server/http/console/live_feed.h"

namespace weir {

class LiveConsoles;

class LiveSession final : public Session,
                          public boost::intrusive::list_base_hook<
                              boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  static constexpr Duration kPingEvery = std::chrono::seconds(5);
  static constexpr Duration kSilenceMax = std::chrono::seconds(15);
  static constexpr int kFramesMax = 32;                             // a second
  static constexpr std::size_t kAnswersMax = std::size_t{4} << 10;  // bytes that wait

  // Whether the client may still listen; asked with each ping. Empty: it may.
  using MayStay = std::function<bool(Instant now)>;

  // The feed and the consoles outlive the session.
  LiveSession(LiveFeed::Seat seat, LiveConsoles& consoles, MayStay may_stay, Instant now);

  // Gets the message of another second.
  void tell(const LiveMessagePtr& message, Instant now);

  void attach(Waker& waker) override { waker_ = &waker; }
  void woken(Instant) override {}
  std::span<char> input_space() override;
  void received(std::size_t size, Instant now) override;
  void peer_closed(Instant) override { give_up(); }
  std::string_view output() const override;
  void sent(std::size_t size, Instant now) override;
  void stamp(Duration) override {}
  Instant deadline() const override { return heard_at_ + kSilenceMax; }
  void expired(Instant now) override;
  void drain() override { close(websocket::CloseCode::kGoingAway); }
  bool finished() const override { return is_over_ || frames_.is_closed(); }
  bool was_flooded() const override { return was_flooded_; }
  std::size_t held() const override;

 private:
  void close(websocket::CloseCode code);
  void give_up();
  void count_frames(int frames, Instant now);
  void choose_next();

  const LiveFeed::Seat feed_;
  const MayStay may_stay_;
  websocket::Frames frames_;
  std::array<char, 512> input_;
  Waker* waker_ = nullptr;

  // The next bytes to write are fixed before they are offered, and stay until taken. They are
  // answers, unless writes_message_.
  LiveMessagePtr message_;
  LiveMessagePtr next_;   // the newest, to follow it
  std::size_t sent_ = 0;  // of message_
  bool writes_message_ = false;

  Instant heard_at_;  // the last pong
  Instant ping_at_;
  Instant frames_since_;
  int frames_count_ = 0;
  bool is_over_ = false;  // writes nothing more
  bool was_flooded_ = false;
};

// The consoles that listen on one core.
class LiveConsoles {
 public:
  void publish(const LiveMessagePtr& message, Instant now) {
    for (LiveSession& session : sessions_) session.tell(message, now);
  }
  void add(LiveSession& session) { sessions_.push_back(session); }

 private:
  boost::intrusive::list<LiveSession, boost::intrusive::constant_time_size<false>> sessions_;
};

}  // namespace weir
