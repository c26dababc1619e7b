// Session: one connection's conversation, without its socket.
//
// The event loop (net) moves bytes and reads the clock; a session turns bytes into
// checks and decisions into bytes. The two meet only here, so every protocol is
// tested by handing it bytes, and the loop is tested with a session of three lines.
//
// The loop's part, in order: read into input_space(), call received(). When output() is not empty,
// stamp() and write it in one piece, call sent() and look at output() again. When finished() and
// output() is empty, close. Between reads, once a second or so, it compares deadline() with its
// clock and calls expired(). A session that has something to say when nothing has come (an answer
// it had to wait for) asks its Waker to be called woken(). One call of a session does a bounded
// amount of work: what remains is done when the others have had their turn (Waker::yield). A
// finished session may have a successor, which speaks another protocol on the same connection.
//
// Thread rule: a session lives on the core that accepted it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/ip_address.h"
#include "base/late_reply.h"
#include "weir/time.h"

namespace weir {

class Session {
 public:
  virtual ~Session() = default;

  // Before anything else, by a caller that can be woken; tests need not. The waker outlives the
  // session.
  virtual void attach(Waker& waker) = 0;

  // After the waker's wake() or yield(): go on with what has waited. There may be
  // more output now.
  virtual void woken(Instant now) = 0;

  // Where the next bytes go. Empty means "don't read now": the peer must first take
  // the output that waits (backpressure). Valid until the next call of any method.
  virtual std::span<char> input_space() = 0;

  // `size` bytes have been put at the front of input_space(). Handles every complete
  // request among what has arrived, and appends the replies to output().
  virtual void received(std::size_t size, Instant now) = 0;

  // The peer has sent all it will. Replies that are due may still be written.
  virtual void peer_closed(Instant now) = 0;

  // Bytes to be written. Valid until the next call of any method.
  virtual std::string_view output() const = 0;

  // The first `size` bytes of output() have been written. Handles requests that were
  // held back until the peer took its replies, so there may be more output now.
  virtual void sent(std::size_t size, Instant now) = 0;

  // Tells the replies in output() how long they took, for the header that says so.
  // Replies that were stamped before keep what they say.
  virtual void stamp(Duration elapsed) = 0;

  // When to call expired(): the peer has been idle for too long, or is too slow with a
  // request; or the session wants to give back memory.
  virtual Instant deadline() const = 0;

  // deadline() has passed. May append a last reply, may set a new deadline(); a peer
  // that takes nothing is given up: finished(), and output() is empty.
  virtual void expired(Instant now) = 0;

  // Finish what has arrived, then close. Called once, at shutdown.
  virtual void drain() = 0;

  // Nothing more will be read: close once output() is empty.
  virtual bool finished() const = 0;
  // The session that goes on when this has finished and output() is empty, instead of a close;
  // null: none. It has what has come behind the last request, and is not attached yet.
  virtual std::unique_ptr<Session> successor(Instant) { return nullptr; }
  // It has finished because its peer only made work.
  virtual bool was_flooded() const { return false; }
  // Bytes of memory that it holds for its peer: input, output, requests under way. Those of
  // our own connections to others do not count.
  virtual std::size_t held() const { return 0; }
  // Those of input that wait for the rest of requests, and are moved as it comes.
  virtual std::size_t input_waiting() const { return 0; }
};

// Hands it bytes that are already here, in one piece. Returns how many it took: none if it does
// not read now.
inline std::size_t feed_piece(Session& session, std::string_view bytes, Instant now) {
  const auto space = session.input_space();
  const auto piece = bytes.substr(0, space.size());
  std::ranges::copy(piece, space.begin());
  if (!piece.empty()) session.received(piece.size(), now);
  return piece.size();
}
// The same in as many pieces as it takes.
inline void feed(Session& session, std::string_view bytes, Instant now) {
  while (const std::size_t size = feed_piece(session, bytes, now)) bytes.remove_prefix(size);
}

// The other end of a connection, as far as the loop knows it.
struct Peer {
  // Where it connects from, or what its PROXY header says. None at a Unix socket.
  std::optional<IpAddress> address;
};

// Makes the session of a new connection. Called on the core that accepted it.
class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  virtual std::unique_ptr<Session> make_session(const Peer& peer, Instant now) = 0;
};

// From where a listening socket can be reached. A door may do more or less by it for clients that
// have shown no credentials. Tested by src/server/http/http_access_test.cc.
enum class Exposure : std::uint8_t { kLoopback, kNetwork };

// What became of the connections of all doors, for metrics. Counted by net/connection_budget.h,
// tested by src/net/server_test.cc and src/server/http/admin/http_pages_test.cc.
struct ConnectionFigures {
  std::uint64_t open = 0;
  std::uint64_t max = 0;
  std::uint64_t accepted = 0;           // since the start
  std::uint64_t refused = 0;            // beyond max: reset at once
  std::uint64_t stalled = 0;            // dropped because the peer did not read its replies
  std::uint64_t failed_handshakes = 0;  // of TLS, those that took too long among them
  std::uint64_t refused_headers = 0;    // of the PROXY protocol, likewise
  std::uint64_t buffered = 0;           // bytes that they hold
  std::uint64_t buffered_max = 0;
  std::uint64_t shed = 0;     // reset because all held too much, and they most
  std::uint64_t flooded = 0;  // closed because the peer only made work
};

}  // namespace weir
