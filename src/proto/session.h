// Session: the conversation on one connection, without its socket.
//
// The event loop (net) moves bytes and reads the clock; a session turns bytes into checks and
// decisions into bytes. They meet only in this interface. So a protocol is tested by giving it
// bytes, and the loop with a session of three lines.
//
// The loop, in order: reads into input_space(), and calls received(). If output() is not empty, it
// calls stamp(), writes output() in one piece, calls sent() and looks at output() again. If
// finished() and output() is empty, it closes. Between reads, about once a second, it compares
// deadline() with its clock and calls expired(). A session with something to say although no bytes
// came (a late answer) asks its Waker for a call of woken(). One call of a session does a bounded
// amount of work; the rest is done after the others' turns (Waker::yield). A finished session may
// have a successor, which speaks another protocol on the same connection.
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

  // Called before all else, if the caller can wake the session; tests need not. The waker outlives
  // the session.
  virtual void attach(Waker& waker) = 0;

  // After the waker's wake() or yield(): goes on with what has waited. There may be more output
  // now.
  virtual void woken(Instant now) = 0;

  // Where the next bytes go. Empty: do not read now, the peer must first take output that waits
  // (backpressure). Valid until the next call of any method.
  virtual std::span<char> input_space() = 0;

  // `size` bytes were put at the front of input_space(). Handles all complete requests that have
  // arrived, and appends the replies to output().
  virtual void received(std::size_t size, Instant now) = 0;

  // The peer will send no more. Replies that are due may still be written.
  virtual void peer_closed(Instant now) = 0;

  // Bytes to be written. Valid until the next call of any method.
  virtual std::string_view output() const = 0;

  // The first `size` bytes of output() were written. Handles requests that waited until the peer
  // took its replies, so there may be more output now.
  virtual void sent(std::size_t size, Instant now) = 0;

  // Tells the replies in output() how long they took, for the header that says it. Replies that
  // were stamped before do not change.
  virtual void stamp(Duration elapsed) = 0;

  // When to call expired(): the peer is idle too long, or too slow with a request; or the session
  // wants to free memory.
  virtual Instant deadline() const = 0;

  // deadline() has passed. May append a last reply, and may set a new deadline(). If the peer takes
  // nothing, it is given up: finished(), and output() is empty.
  virtual void expired(Instant now) = 0;

  // Finishes what has arrived, then closes. Called once, at shutdown.
  virtual void drain() = 0;

  // Nothing more will be read: the loop closes once output() is empty.
  virtual bool finished() const = 0;
  // Instead of a close: the session that goes on when this one has finished and output() is empty.
  // Null: none. It has the bytes after the last request, and is not attached yet.
  virtual std::unique_ptr<Session> successor(Instant) { return nullptr; }
  // Whether it finished because its peer only made work.
  virtual bool was_flooded() const { return false; }
  // Bytes of memory that it holds for its peer: input, output, requests under way. Weir's own
  // connections to others do not count.
  virtual std::size_t held() const { return 0; }
  // Bytes of input that wait for the rest of their requests, and are moved when it comes.
  virtual std::size_t input_waiting() const { return 0; }
};

// Gives the session bytes in one piece. Returns how many it took: none if it does not read now.
inline std::size_t feed_piece(Session& session, std::string_view bytes, Instant now) {
  const auto space = session.input_space();
  const auto piece = bytes.substr(0, space.size());
  std::ranges::copy(piece, space.begin());
  if (!piece.empty()) session.received(piece.size(), now);
  return piece.size();
}
// The same in as many pieces as needed.
inline void feed(Session& session, std::string_view bytes, Instant now) {
  while (const std::size_t size = feed_piece(session, bytes, now)) bytes.remove_prefix(size);
}

// The other end of a connection, as known to the loop.
struct Peer {
  // The peer's address, or the client's in its PROXY header. Nothing at a Unix socket.
  std::optional<IpAddress> address;
};

// Makes the session of a new connection. Called on the core that accepted it.
class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  virtual std::unique_ptr<Session> make_session(const Peer& peer, Instant now) = 0;
};

// From where a listening socket can be reached. A door may decide by it what clients without
// credentials may do. Tested by src/server/http/http_access_test.cc.
enum class Exposure : std::uint8_t { kLoopback, kNetwork };

// What happened to the connections of all doors, for metrics. Counted by net/connection_budget.h,
// tested by src/net/server_test.cc and src/server/http/admin/http_pages_test.cc.
struct ConnectionFigures {
  std::uint64_t open = 0;
  std::uint64_t max = 0;
  std::uint64_t accepted = 0;           // since the start
  std::uint64_t refused = 0;            // beyond max: reset at once
  std::uint64_t stalled = 0;            // dropped because the peer did not read its replies
  std::uint64_t failed_handshakes = 0;  // of TLS, with those that took too long
  std::uint64_t refused_headers = 0;    // of the PROXY protocol, with those that took too long
  std::uint64_t buffered = 0;           // bytes held by all
  std::uint64_t buffered_max = 0;
  std::uint64_t shed = 0;     // reset because all held too much, and these most
  std::uint64_t flooded = 0;  // closed because the peer only made work
};

}  // namespace weir
