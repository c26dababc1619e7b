// Core: one thread's share of the server: its loop, its listeners, its connections.
//
// Thread rule: construct anywhere; run() on the core's thread; the rest through
// loop().post(). Tested by server_test.cc.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "net/connection_set.h"
#include "net/listener.h"
#include "net/loop/event_loop.h"
#include "net/socket_dialer.h"

namespace weir {

class Core {
 public:
  // Both must outlive the core.
  Core(const Clock& clock, ConnectionBudget& budget) : loop_(clock), connections_(loop_, budget) {}

  // Before run(). The factory must outlive the core. False if the kernel has no room.
  [[nodiscard]] bool listen(UniqueFd socket, Doorway doorway);

  EventLoop& loop() { return loop_; }
  SocketDialer& dialer() { return dialer_; }

  // A user of the loop next to the clients.
  struct Lodger {
    // The last client has gone. Returns whether the lodger has sent all that it has to send to
    // others; called every millisecond, for kLeaveMax at most. Empty: it sends nothing.
    std::function<bool()> leave{};
    // The lodger goes, while connections to others still stand. May be empty.
    std::function<void()> end{};
  };
  static constexpr Duration kLeaveMax = std::chrono::seconds(1);

  // Runs the loop until a drain has ended and the lodger has gone.
  void run(Lodger lodger);

  // Lets clients in, unless a drain has begun. On the core's thread.
  void open_doors();

  // Stops accepting, lets every session finish, and ends run() when all have, or after `patience`.
  // Keeps the last tenth of that, kLeaveMax at most, for leave(). On the core's thread.
  void drain(Duration patience);

  // Calls `over` when the connections of all cores hold too much: then each core has to shed().
  void when_over(std::function<void()> over) { connections_.when_over(std::move(over)); }
  // Ends the largest connections. Returns how many.
  std::size_t shed() { return connections_.shed(); }

  // Connections that the drain cut off because it took too long. After run().
  std::size_t cut_off() const { return cut_off_; }

 private:
  void tick(Instant now);
  void tick_soon() { ticker_->set(Instant{}); }
  void cut_off_clients(Instant now);
  void wait_for_lodger(Instant now);

  EventLoop loop_;
  std::unique_ptr<Alarm> ticker_ = loop_.make_alarm([this](Instant now) { tick(now); });
  std::deque<Doorway> doorways_;  // a deque, as connections refer to them
  ConnectionSet connections_;
  SocketDialer dialer_{loop_};
  std::vector<std::unique_ptr<Listener>> listeners_;
  Lodger lodger_;
  enum class Phase : std::uint8_t { kClosed, kServing, kDraining, kLeaving };
  Phase phase_ = Phase::kClosed;
  Instant clients_until_;
  Instant lodger_until_;
  std::size_t cut_off_ = 0;
};

}  // namespace weir
