// Listener: one core's listening socket on one address.
//
// If there is no memory for a connection, the listener closes it.
//
// Thread rule: opened anywhere, then on its core. Tested by server_test.cc.

#pragma once

#include <cstdint>

#include "base/unique_fd.h"
#include "net/connection_set.h"
#include "net/doorway.h"
#include "net/loop/event_loop.h"

namespace weir {

class Listener final : public EventLoop::Watcher {
 public:
  // `doorway` must outlive the connections, both the listener.
  Listener(UniqueFd socket, const Doorway& doorway, ConnectionSet& connections);

  // Clients that connect wait until resume().
  [[nodiscard]] bool start();
  void ready(std::uint32_t events) override;

  // Accepts connections, at first and after the system was short of descriptors or memory.
  void resume();

  // Stops listening. Connections that the kernel has completed are still accepted.
  void close();

 private:
  bool accept_one();
  void let_in(UniqueFd socket, const Peer& peer);
  void add_connection(UniqueFd socket, const Peer& peer);
  void pause();

  UniqueFd socket_;
  const Doorway& doorway_;
  ConnectionSet& connections_;
  bool paused_ = true;
};

}  // namespace weir
