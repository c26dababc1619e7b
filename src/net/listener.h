// Listener: one core's listening socket on one address.
//
// Every core has its own, with SO_REUSEPORT: the kernel spreads the connections over
// them and no core waits for another. The price is that a port taken by a second weir
// would not be noticed; so the first socket of an address is preceded by one without
// that option, which fails where it should.
//
// Thread rule: opened anywhere, then on its core. Tested by server_test.cc.

#pragma once

#include <cstdint>
#include <variant>

#include "net/address.h"
#include "net/connection_set.h"
#include "net/event_loop.h"
#include "net/unique_fd.h"
#include "proto/session.h"

namespace weir {

// A bound and listening socket, for the first core of an address or a further one.
// The error names the address and what to do.
std::variant<UniqueFd, StartError> listen_first(const Address& address);
std::variant<UniqueFd, StartError> listen_again(const Address& address);

class Listener final : public EventLoop::Watcher {
 public:
  // The factory makes the sessions of what is accepted. All must outlive the listener.
  Listener(UniqueFd socket, SessionFactory& factory, ConnectionSet& connections);

  [[nodiscard]] bool start();
  void ready(std::uint32_t events) override;

  // Takes up accepting again after the system was short of descriptors or memory.
  void resume();

  // Stops listening. Connections that the kernel has completed are still accepted.
  void close();

 private:
  bool accept_one();
  void pause();

  UniqueFd socket_;
  SessionFactory& factory_;
  ConnectionSet& connections_;
  bool paused_ = false;
};

}  // namespace weir
