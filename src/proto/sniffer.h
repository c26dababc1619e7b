// Sniffer: one address for HTTP/1.1 and HTTP/2. The first bytes say which it is.
//
// A client that speaks HTTP/2 without asking first (prior knowledge, or what ALPN agreed
// on) begins with a preface of 24 bytes that is no request of HTTP/1.1. So a connection
// begins with its HTTP/1.1 session, whose buffer the first bytes are read into: if they
// are not the preface, nothing has to be moved or made. If they are, an HTTP/2 session
// takes its place. As long as they might become the preface they are kept from it.
//
// Thread rule: on the core that accepted the connection. Tested by sniffer_test.cc.

#pragma once

#include <memory>

#include "proto/session.h"

namespace weir {

class SniffingFactory final : public SessionFactory {
 public:
  // Both must outlive the factory, and the factory its sessions.
  // REQUIRES: the HTTP/1.1 sessions have room for more than a preface at first.
  SniffingFactory(SessionFactory& http1, SessionFactory& http2) : http1_(http1), http2_(http2) {}

  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override;

 private:
  SessionFactory& http1_;
  SessionFactory& http2_;
};

}  // namespace weir
