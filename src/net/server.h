// Server: listens on addresses with a thread per core, and stops without dropping anyone.
//
// It knows no protocol: each address comes with the factories (one a core) that make
// the sessions of its connections.
//
// Thread rule: one thread opens, starts, drains and destroys it; post() from any.
// Tested by server_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "net/connection_budget.h"
#include "net/core.h"
#include "net/doorway.h"
#include "net/loop/gate.h"
#include "net/sockets/address.h"
#include "net/sockets/listening_sockets.h"
#include "net/tls/tls_context.h"
#include "proto/dialer.h"
#include "proto/reactor.h"
#include "proto/session.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir {

struct ServerOptions {
  std::size_t connections_max = 100'000;  // the process's
  // Bytes that they may hold together; beyond it those that hold most are reset, and on_shed,
  // if there is one, is called with their number, on their core's thread.
  std::uint64_t buffered_max = UINT64_MAX;
  std::function<void(std::size_t count)> on_shed{};
  // REQUIRES: there is one, and with TLS, if an endpoint wants them.
  std::shared_ptr<const Admission> admission;
  // For connections outward. Null: those that want TLS fail.
  std::shared_ptr<const TlsTrust> trust;
  // Called on each core's thread, before it serves anybody, and when it has served the last:
  // what lives on its loop is made and destroyed there. Between the two, with the last client gone,
  // core_leaves is asked again and again. It returns whether it has sent to others what it has to
  // send, for a second at most and within the patience of the drain. May be empty.
  std::function<void(std::size_t core, EventLoop& loop, SocketDialer& dialer)> core_begins{};
  std::function<bool(std::size_t core)> core_leaves{};
  std::function<void(std::size_t core)> core_ends{};
};

// An address and, for each core, who speaks there. The factories must outlive the
// server; each is used on its core only.
struct Endpoint {
  Address address;
  std::vector<SessionFactory*> factories;
  Security security = Security::kClear;
  // Under TLS, the protocols to agree on, best first. Empty: nothing is agreed on.
  std::vector<std::string> alpn;
  ProxyProtocol proxy_protocol = ProxyProtocol::kNone;
};

class Server {
 public:
  // Binds and listens on all addresses; clients may connect and wait until open_doors().
  // There are as many cores as factories. REQUIRES: each endpoint has the same number,
  // at least one. `clock` must outlive the server.
  static Result<std::unique_ptr<Server>, Fault> open(const std::vector<Endpoint>& endpoints,
                                                     const ServerOptions& options,
                                                     const Clock& clock);

  // Cuts off all clients that are still connected. A server that has been started and is to be kind
  // to its clients is drained first.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where it really listens: with port 0, the port that the system chose.
  const Address& address(std::size_t endpoint) const { return addresses_[endpoint]; }

  std::size_t cores() const { return cores_.size(); }

  // Starts the threads. Signals that were blocked in the caller are blocked in them.
  // Clients may connect and wait until open_doors().
  void start();
  void open_doors();

  // Runs `action` on a core's thread, soon. Nothing happens if the core has stopped.
  void post(std::size_t core, std::function<void()> action);

  // The same on every core, and waits until all have run it, for `patience` at most. False: a core
  // has not, for being busy, without memory or stopped; what is posted may still run. Not to be
  // called on a core's thread.
  bool run_on_all(const std::function<void(std::size_t core)>& action, Duration patience);

  // What code without sockets lives on, on one core: before start(), or on its thread. All
  // that comes of them is destroyed before the server, and after stopped() on any thread.
  Reactor& reactor(std::size_t core) { return cores_[core]->loop(); }
  Dialer& dialer(std::size_t core) { return cores_[core]->dialer(); }

  // Whom every core lets in from now on; who is in stays. REQUIRES: as in ServerOptions.
  void use_admission(std::shared_ptr<const Admission> admission) noexcept {
    admission_.set(std::move(admission));
  }

  // Stops accepting and lets every session finish, for at most `patience`; the last tenth of
  // it, a second at most, is kept for core_leaves, if there is one. Returns at once;
  // stopped() opens when done. Files of Unix sockets go first, so that another
  // server may take their place.
  void drain(Duration patience);
  const Gate& stopped() const { return stopped_; }

  // Connections that the drain cut off. After stopped().
  std::size_t cut_off() const { return cut_off_; }

  ConnectionFigures connections() const { return budget_.figures(); }

 private:
  Server(std::size_t cores, const ServerOptions& options, const Clock& clock);
  std::optional<Fault> listen(const Endpoint& endpoint);
  void run_core(std::size_t core);
  void shed();

  const ServerOptions options_;
  ConnectionBudget budget_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<Address> addresses_;
  std::vector<SocketFile> socket_files_;
  std::vector<std::thread> threads_;
  // The core that leaves last opens the gate; acquire and release, because the thread that passes
  // it reads what the cores have written.
  std::atomic<std::size_t> running_{0};
  std::atomic<std::size_t> cut_off_{0};
  std::vector<std::atomic<bool>> shedding_;  // cores that have yet to shed
  SharedAdmission admission_;
  Gate stopped_;
};

}  // namespace weir
