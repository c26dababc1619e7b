// Connection: moves bytes between one socket and one Session.
//
// If a PROXY header or TLS comes first, the session is made after that.
//
// One recv when the socket is readable, and one send if that made output. epoll watches for
// writability only after a send that did not take everything, and not for input while the session
// has no room. About 100 bytes; the buffers are the session's.
//
// A turn sends at most about kTurnBytes. A connection with more to do, itself or its session,
// queues for its next turn (ConnectionSet). It then queues for its next events, too: other
// connections, whose requests are small, come first. A connection that read kTurnInput also queues
// the next time. So does one with as many bytes of an unfinished request: the next may move all.
// Handshakes, the first bytes of each connection, and all after its end queue as well.
//
// It ends in one of these ways:
//   it may not come in        closed; if the handshake failed, TLS has said why
//   the session is finished   its successor goes on, if it has one; else our side is shut, and
//                             what the peer still sends is thrown away, for up to kLingerMax and
//                             kDiscardMax: closing with unread input would reset the connection
//                             and could destroy the last reply
//   the peer has gone         closed
//   output not taken for 30 s, or the drain took too long    reset
//   all connections hold too much, and this one most         reset
//
// If there is no memory for a request or its reply, the connection is closed; others have theirs.
//
// At a drain, a connection that has been silent for kDrainPatience is closed at once. Another one
// may have a request under way that we have not seen. Its session finishes when its next byte
// arrives, so the reply to that request says it is the last. It also finishes after that much
// silence.
//
// Thread rule: on the core that accepted it. Tested by server_test.cc, successor_test.cc,
// tls_test.cc and proxy_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/unique_fd.h"
#include "net/channel.h"
#include "net/entrance.h"
#include "net/loop/event_loop.h"
#include "proto/session.h"
#include "weir/time.h"

namespace weir {

class ConnectionSet;

// The queue of connections that want another turn.
using TurnHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct TurnTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// check:allow(methods): reading, writing and ending change one phase, and each may destroy it
class Connection final : public EventLoop::Watcher, public TurnHook, public Waker {
 public:
  static constexpr std::size_t kTurnBytes = std::size_t{64} << 10;
  static constexpr std::size_t kTurnInput = std::size_t{16} << 10;
  static constexpr std::size_t kDiscardMax = std::size_t{1} << 20;  // bytes

  // Longer than a slow network's worst pause, short enough that a peer which stopped
  // reading does not hold its place for minutes.
  static constexpr Duration kStallMax = std::chrono::seconds(30);
  static constexpr Duration kLingerMax = std::chrono::seconds(1);
  static constexpr Duration kDrainPatience = std::chrono::seconds(1);

  // For a client that is in already, and for one that has to come in first.
  Connection(ConnectionSet& owner, Channel channel, std::unique_ptr<Session> session);
  Connection(ConnectionSet& owner, UniqueFd socket, std::unique_ptr<Entrance> entrance);

  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Registers with the loop. False if that is impossible.
  [[nodiscard]] bool start();

  void ready(std::uint32_t events) override;
  void woken() override;
  void wake() noexcept override { loop_.wake_soon(*this); }
  void look_at(Instant when) override;

  void yield() noexcept override;

  // Its turn has come. May destroy this.
  void take_turn();

  // Acts on deadlines that have passed. May destroy this.
  void sweep();

  // Bytes that its session held when it last acted.
  std::size_t held() const { return held_; }
  // Ends it, because all connections hold too much. Destroys this.
  void shed();

  // Finishes what has arrived, then closes. May destroy this.
  void drain();

  int socket() const { return channel_.socket(); }

 private:
  friend class ConnectionSet;

  enum class Phase : std::uint8_t {
    kTalking,    // or still coming in
    kPeerDone,   // the peer has closed its side; replies are still written
    kLingering,  // our side is closed; input is thrown away
    kDead,       // to be destroyed before control returns to the loop
  };
  enum class Drain : std::uint8_t { kNo, kAtNextByte, kTold };

  template <typename Work>
  void attempt(const Work& work);
  void handle(std::uint32_t events);
  void handle_wake();
  bool is_anything_due(Instant now) const;
  void act_on_due(Instant now);
  void finish_draining();
  void enter();
  void turn_away();
  void read();
  void read_once();
  void write();
  std::size_t send_once();
  void settle();
  void hand_over();
  void account();
  void linger();
  void tell_session_to_drain();
  void give_up_stalled();
  void update_interest();
  bool wants_input() const;
  void watch_for(std::uint32_t events);

  EventLoop& loop_;
  ConnectionSet& owner_;
  Channel channel_;
  std::unique_ptr<Entrance> entrance_;  // until there is a session
  std::unique_ptr<Session> session_;
  Instant last_heard_;                // when bytes last arrived, or the connection was made
  Instant phase_deadline_;            // kLingering: when to stop
  Instant stalled_since_;             // while blocked_: when output last moved
  Instant look_at_ = Instant::max();  // as ConnectionSet knows it
  std::size_t held_ = 0;
  std::size_t discarded_ = 0;
  std::uint32_t index_ = 0;     // in ConnectionSet
  std::uint32_t events_ = 0;    // events of epoll that wait for its turn
  std::uint32_t interest_ = 0;  // the events that epoll watches for
  Phase phase_ = Phase::kTalking;
  Drain drain_ = Drain::kNo;
  bool blocked_ = false;   // the last send did not take everything
  bool paused_ = false;    // the session had no room for input
  bool reread_ = false;    // read again when the socket is writable
  bool has_more_ = false;  // something to do in its next turn, without an event
  bool is_heavy_ = true;   // it queues: its last turn was not enough, or it is new
};

}  // namespace weir
