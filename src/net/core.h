// Core: one thread's share of the server: its loop, its listeners, its connections.
//
// Thread rule: construct anywhere; run() on the core's thread; the rest through
// loop().post(). Tested by server_test.cc.

#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "net/connection_set.h"
#include "net/event_loop.h"
#include "net/listener.h"
#include "net/socket_dialer.h"

namespace weir {

class Core {
 public:
  // Both must outlive the core.
  Core(const Clock& clock, ConnectionBudget& budget) : loop_(clock), connections_(loop_, budget) {}

  // Before run(). The factory must outlive the core. False if the kernel has no room.
  [[nodiscard]] bool listen(UniqueFd socket, Doorway doorway);

  // For connections that come from now on. On the core's thread.
  void use_admission(const std::shared_ptr<const Admission>& admission);

  EventLoop& loop() { return loop_; }
  SocketDialer& dialer() { return dialer_; }

  // Serves until a drain has ended. Then calls `last`, when there are no more clients, but
  // connections to others.
  void run(const std::function<void()>& last = [] {});

  // Stops accepting, lets every session finish, and ends run() when all have, or after
  // `patience`. On the core's thread; once.
  void drain(Duration patience);

  // Connections that were cut off because the drain took too long. After run().
  std::size_t cut_off() const { return cut_off_; }

 private:
  void tick(Instant now);
  void end_drain();

  EventLoop loop_;
  std::unique_ptr<Alarm> ticker_ = loop_.make_alarm([this](Instant now) { tick(now); });
  std::deque<Doorway> doorways_;  // they keep their places: connections refer to them
  ConnectionSet connections_;
  SocketDialer dialer_{loop_};
  std::vector<std::unique_ptr<Listener>> listeners_;
  bool draining_ = false;
  Instant drain_deadline_;
  std::size_t cut_off_ = 0;
};

}  // namespace weir
