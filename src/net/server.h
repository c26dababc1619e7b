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
  // Bytes that all connections may hold. Beyond it the largest are reset, and on_shed, if there is
  // one, is called with their number, on their core's thread.
  std::uint64_t buffered_max = UINT64_MAX;
  std::function<void(std::size_t count)> on_shed{};
  // REQUIRES: there is one, and with TLS, if an endpoint wants them.
  std::shared_ptr<const Admission> admission;
  // For outgoing connections. Null: those that need TLS fail.
  std::shared_ptr<const TlsTrust> trust;
  // core_begins and core_ends run on each core's thread, before the first client and after the last
  // one: they make and destroy the users of its loop there. Between them, with the last client
  // gone, core_leaves is called again and again, for a second at most and within the patience of
  // the drain. It returns whether the core has sent all that it has to send to others. All may be
  // empty.
  std::function<void(std::size_t core, EventLoop& loop, SocketDialer& dialer)> core_begins{};
  std::function<bool(std::size_t core)> core_leaves{};
  std::function<void(std::size_t core)> core_ends{};
};

// An address and, for each core, the maker of its sessions. The factories must outlive the server;
// each is used on its core only.
struct Endpoint {
  Address address;
  std::vector<SessionFactory*> factories;
  Security security = Security::kClear;
  // Under TLS, the protocols to agree on, best first. Empty: none.
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

  // Cuts off all clients that are still connected. Drain a started server first, to be kind to its
  // clients.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The real address: with port 0, the port that the system chose.
  const Address& address(std::size_t endpoint) const { return addresses_[endpoint]; }

  std::size_t cores() const { return cores_.size(); }

  // Starts the threads. Signals that were blocked in the caller are blocked in them.
  // Clients may connect and wait until open_doors().
  void start();
  void open_doors();

  // Runs `action` on a core's thread, soon. Does nothing if the core has stopped.
  void post(std::size_t core, std::function<void()> action);

  // Runs `action` on every core, and waits until all have run it, for `patience` at most. False: a
  // core is busy, without memory or stopped; a posted action may still run. Not to be called on a
  // core's thread.
  bool run_on_all(const std::function<void(std::size_t core)>& action, Duration patience);

  // From now on all cores admit by this; clients that are in stay. REQUIRES: as in ServerOptions.
  void use_admission(std::shared_ptr<const Admission> admission) noexcept {
    admission_.set(std::move(admission));
  }

  // Stops accepting and lets every session finish, for at most `patience`; keeps the last tenth of
  // it, a second at most, for core_leaves, if there is one. Returns at once; stopped() opens when
  // done. Removes the files of Unix sockets first, so that another server may take their place.
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
  // The last core that leaves opens the gate. Acquire and release, because the thread behind the
  // gate reads what the cores have written.
  std::atomic<std::size_t> running_{0};
  std::atomic<std::size_t> cut_off_{0};
  std::vector<std::atomic<bool>> shedding_;  // cores that still have to shed
  SharedAdmission admission_;
  Gate stopped_;
};

}  // namespace weir
