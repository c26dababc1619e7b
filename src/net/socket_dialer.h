// SocketDialer: one core's outgoing connections.
//
//   name -> addresses, tried in turn -> TCP or a Unix socket -> TLS -> the session
//
// all before the deadline. Its connections are kept apart from clients' connections. A drain does
// not end them, since the last clients' checks may need them, and they do not count against the
// clients' bounds.
//
// Thread rule: the core's. Attempts (Dial) are destroyed before it.
// Tested by socket_dialer_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "net/connection_budget.h"
#include "net/connection_set.h"
#include "net/loop/event_loop.h"
#include "net/loop/name_lookup.h"
#include "net/tls/tls_context.h"
#include "proto/dialer.h"

namespace weir {

class SocketDialer final : public Dialer {
 public:
  // More than the nodes of the largest cluster.
  static constexpr std::uint64_t kConnectionsMax = 2'048;

  // `loop` must outlive this.
  explicit SocketDialer(EventLoop& loop);
  ~SocketDialer();

  // For attempts from now on. Before the first call, attempts that need TLS fail.
  void use_tls(std::shared_ptr<const TlsTrust> tls) { tls_ = std::move(tls); }

  std::unique_ptr<Dial> dial(const Destination& destination, Instant deadline,
                             DialListener& listener) override;

  // To be called now and then, as in ConnectionSet.
  void sweep() { connections_.sweep_some(Duration::zero()); }

  // Destroys all connections. Returns how many there were.
  std::size_t reset_all() { return connections_.reset_all(); }

 private:
  class Attempt;
  class Handle;

  Attempt* find(std::uint64_t id);
  void forget(const Attempt& attempt);

  EventLoop& loop_;
  NameLookup lookup_;
  ConnectionBudget budget_{kConnectionsMax};
  ConnectionSet connections_;
  std::shared_ptr<const TlsTrust> tls_;
  std::uint64_t next_id_ = 0;
  std::vector<std::unique_ptr<Attempt>> attempts_;
};

}  // namespace weir
