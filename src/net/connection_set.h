// ConnectionSet: the connections of one core.
//
// Owns them, and walks over them: about once a second it checks each for deadlines that have
// passed. It checks a few thousand at a time, so a core with 100,000 connections does not pause all
// requests meanwhile. A connection whose session has a deadline to the millisecond is checked at
// that deadline.
//
// Thread rule: on its core. Tested by server_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "net/connection.h"
#include "net/connection_budget.h"

namespace weir {

class ConnectionSet {
 public:
  // All must outlive the set.
  ConnectionSet(EventLoop& loop, ConnectionBudget& budget);
  ~ConnectionSet();
  ConnectionSet(const ConnectionSet&) = delete;
  ConnectionSet& operator=(const ConnectionSet&) = delete;

  // A new connection, whose place in the budget is taken. If there is no memory for it, the place
  // stays the caller's, and the socket is closed.
  void add(Channel channel, std::unique_ptr<Session> session);
  void add(UniqueFd socket, std::unique_ptr<Entrance> entrance);

  // Sweeps the next part of the connections and returns how long to wait before the next.
  Duration sweep_some(Duration whole_round);

  void drain_all();
  // Destroys all, telling the peers by a reset. Returns how many there were.
  std::size_t reset_all();

  // Gives a connection another turn after the other connections' turns. Turns take kTurnsMax in a
  // round of the loop, and the round's events come first.
  void queue(Connection& connection) noexcept;

  // A connection that held `before` bytes holds `after`. Calls `over` if all together hold too
  // much.
  void account(std::size_t before, std::size_t after);
  void when_over(std::function<void()> over) { when_over_ = std::move(over); }
  // Ends connections, the largest first, until the others hold little enough. Returns how many.
  std::size_t shed();

  // Calls `action` each time the last one goes.
  void when_empty(std::function<void()> action) { when_empty_ = std::move(action); }

  std::size_t size() const { return connections_.size(); }
  bool empty() const { return connections_.empty(); }

  EventLoop& loop() { return loop_; }
  ConnectionBudget& budget() { return budget_; }
  void destroy(Connection& connection);
  // Sweeps the connection at `when`, unless it is to be swept before.
  void look_at(Connection& connection, Instant when);

 private:
  using Look = std::pair<Instant, Connection*>;

  void look(Instant now);
  void forget_look(Connection& connection);
  void add(std::unique_ptr<Connection> connection);
  void give_turns();

  // For all turns in a round of the loop, before it looks for new events.
  static constexpr Duration kTurnsMax = std::chrono::milliseconds(1);
  // Ending a thousand streams, or a full socket, takes most of it. If that was not enough, the next
  // byte sheds again.
  static constexpr Duration kShedMax = std::chrono::milliseconds(1);

  EventLoop& loop_;
  ConnectionBudget& budget_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t sweep_from_ = 0;
  std::set<Look> looks_;
  std::unique_ptr<Alarm> alarm_;  // rings for the first deadline
  std::function<void()> when_empty_;
  std::function<void()> when_over_;
  boost::intrusive::list<Connection, boost::intrusive::base_hook<TurnHook>,
                         boost::intrusive::constant_time_size<false>>
      queue_;  // of connections that want another turn
  std::unique_ptr<Alarm> turns_ = loop_.make_alarm([this](Instant) { give_turns(); });
};

}  // namespace weir
