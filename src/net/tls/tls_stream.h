// TlsStream: one connection's TLS, straight on its socket.
//
// OpenSSL writes to the socket without MSG_NOSIGNAL, so the process ignores SIGPIPE.
//
// Thread rule: the core of the connection. Tested by src/net/tls_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace weir {

// What came of reading from or writing to a connection, in clear or through TLS.
struct IoResult {
  enum class Status : std::uint8_t {
    kDone,         // `size` bytes were moved
    kWantsInput,   // try again when the socket is readable
    kWantsOutput,  // try again when it is writable
    kEnd,          // the peer has sent all it will
    kBroken,       // nothing will come of this connection any more
  };
  Status status;
  std::size_t size = 0;  // also if a write could not take everything
};

class TlsStream {
 public:
  explicit TlsStream(ssl_st* ssl) : ssl_(ssl) {}  // owns it
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // kDone when both sides have what they need. If kBroken, the peer has been told why,
  // as far as TLS has words for it.
  IoResult handshake();

  // Of a handshake that is kBroken: why, in a few words.
  std::string refusal() const;

  // What follows is for after the handshake. A read takes at most one record's bytes,
  // and the socket may be empty although more of the record waits: see has_unread().
  IoResult read(std::span<char> space);
  bool has_unread() const;

  // Takes as much as the socket does. What it could not take is to be offered again, and
  // may be longer then, not shorter.
  IoResult write(std::string_view output);

  // Tells the peer that nothing more will be written, if the socket has room for that.
  void say_goodbye();

 private:
  IoResult result_of(int returned);

  ssl_st* ssl_;
  unsigned long error_ = 0;  // OpenSSL's, of a handshake
  bool broken_ = false;      // OpenSSL must not be called any more but to free
};

}  // namespace weir
