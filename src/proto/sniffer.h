// Sniffer: one address for HTTP/1.1 and HTTP/2. The first bytes say which it is.
//
// A client that speaks HTTP/2 without asking first (prior knowledge, or ALPN's choice) begins with
// a preface of 24 bytes, which is no request of HTTP/1.1. So a connection begins with its HTTP/1.1
// session, and the first bytes are read into its buffer. If they are not the preface, nothing must
// be moved or made. If they are, an HTTP/2 session replaces it. While they may become the preface,
// the HTTP/1.1 session does not get them.
//
// Thread rule: on the core that accepted the connection. Tested by sniffer_test.cc.

#pragma once

#include <memory>

#include "proto/session.h"

namespace weir {

class SniffingFactory final : public SessionFactory {
 public:
  // Both must outlive the factory, and the factory its sessions.
  // REQUIRES: the HTTP/1.1 sessions first have room for more than a preface
  SniffingFactory(SessionFactory& http1, SessionFactory& http2) : http1_(http1), http2_(http2) {}

  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override;

 private:
  SessionFactory& http1_;
  SessionFactory& http2_;
};

}  // namespace weir
