// Dialer: gets connections to others for code without sockets.
//
// A class in net implements this: it resolves names, makes connections and encrypts them. The
// caller's session begins when bytes can be moved. From then on the loop drives it like a server's
// session. It is destroyed when the connection has ended, from whichever side.
//
// Thread rule: one core. Implemented by net/socket_dialer.h.
// Tested by src/net/socket_dialer_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proto/session.h"
#include "weir/time.h"

namespace weir {

enum class Encryption : std::uint8_t { kNone, kTls };

// The host to connect to.
struct Destination {
  std::string host;  // a name or an address without brackets; empty: the Unix socket `path`
  std::uint16_t port = 0;
  std::string path;
  Encryption encryption = Encryption::kNone;

  bool is_unix() const { return host.empty(); }
  std::string to_string() const {
    if (is_unix()) return "unix:" + path;
    const bool is_v6 = host.find(':') != std::string::npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  }

  friend bool operator==(const Destination&, const Destination&) = default;
};

// The authorities to trust with TLS, and this node's own certificate: PEM files; empty: none.
struct TlsTrustFiles {
  // kNone trusts every server that answers: bytes are secret, but not from an impostor.
  enum class Verification : std::uint8_t { kFull, kNone };
  std::string authorities;  // empty: the system's
  std::string certificate;  // shown on request, with its key
  std::string key;
  Verification verification = Verification::kFull;

  friend bool operator==(const TlsTrustFiles&, const TlsTrustFiles&) = default;
};

// Waits for a connection. Exactly one of its functions is called, once, and never within dial().
class DialListener {
 public:
  // Bytes can be moved. Returns the session that moves them.
  virtual std::unique_ptr<Session> connected(Instant now) = 0;

  // `why` is a sentence without its stop.
  virtual void not_connected(const std::string& why, Instant now) = 0;

 protected:
  ~DialListener() = default;
};

// An attempt. If it is destroyed before its outcome, it is given up and nobody is called. Later,
// destroying it does nothing.
class Dial {
 public:
  virtual ~Dial() = default;
};

class Dialer {
 public:
  virtual std::unique_ptr<Dial> dial(const Destination& destination, Instant deadline,
                                     DialListener& listener) = 0;

 protected:
  ~Dialer() = default;
};

}  // namespace weir
