// Entrance: the steps of a connection before it has a session: its PROXY header, then the TLS
// handshake.
//
// The entrance peeks at the header in the socket's buffer and takes only its bytes. So the
// handshake and the session begin at the right byte.
//
// Thread rule: the core of the connection. Tested by tls_test.cc and proxy_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/channel.h"
#include "net/doorway.h"
#include "proto/session.h"
#include "weir/time.h"

namespace weir {

class Entrance {
 public:
  // For all steps. Long for a handshake over a bad line, short for holding a place.
  static constexpr Duration kPatience = std::chrono::seconds(10);

  // `doorway` must outlive the entrance.
  Entrance(const Doorway& doorway, const Peer& peer, Instant now);

  enum class Step : std::uint8_t { kProxyHeader, kHandshake };
  // The current step; after a refusal, the failed one.
  Step step() const { return step_; }

  enum class Progress : std::uint8_t {
    kWaitsForInput,
    kWaitsForOutput,
    kPassed,    // make_session() is next
    kRefused,   // close
    kPeerLeft,  // close
  };
  Progress advance(Channel& channel);

  Instant deadline() const { return deadline_; }
  std::unique_ptr<Session> make_session(Instant now);

 private:
  Progress read_proxy_header(Channel& channel);
  Progress shake_hands(Channel& channel);

  const Doorway& doorway_;
  Peer peer_;
  const Instant deadline_;
  Step step_;
  std::string header_;  // its bytes so far
};

}  // namespace weir
