// Dialer: how code without sockets gets a connection to somebody.
//
// The class that implements this (in net) resolves names, makes connections and encrypts them. The
// session comes in when bytes can be moved, and from then on is driven like a server's. It is
// destroyed when the connection has ended, whichever side ended it.
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

// Whom to connect to.
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

// Whom to trust with TLS, and who we are: files in PEM; empty: none.
struct TlsTrustFiles {
  // kNone trusts every server that answers: the bytes are secret, from everybody but an impostor.
  enum class Verification : std::uint8_t { kFull, kNone };
  std::string authorities;  // empty: those the system trusts
  std::string certificate;  // to show on request, with its key
  std::string key;
  Verification verification = Verification::kFull;

  friend bool operator==(const TlsTrustFiles&, const TlsTrustFiles&) = default;
};

// Somebody that waits for a connection. One of the two is called, once, and never from within
// dial().
class DialListener {
 public:
  // Bytes can be moved: gives the session that moves them.
  virtual std::unique_ptr<Session> connected(Instant now) = 0;

  // `why` is a sentence without its stop.
  virtual void not_connected(const std::string& why, Instant now) = 0;

 protected:
  ~DialListener() = default;
};

// An attempt. Destroyed before its outcome, it is given up and nobody is called; destroyed
// later, nothing happens.
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
