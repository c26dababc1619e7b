// FleetMember: one worker of an nginx that shares a Redis with other nodes.
//
//   nginx's loop ── readable, or next_timeout() ──> turn() ──> EventLoop ──> Redis
//
// Each worker has its own connections to the Redis, and decides there by itself. All workers
// together are one node. The board (fleet_board.h) says which of them sends the node's beats; the
// others read the fleet's facts there. Blocks travel
//
//   here    a worker's log entry -> the worker with the seat -> Redis -> other nodes
//   there   Redis -> the worker with the seat -> log -> all workers
//
// Thread rule: the worker's only thread. Tested by tests/nginx/fleet_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "net/loop/event_loop.h"
#include "net/socket_dialer.h"
#include "net/tls/tls_context.h"
#include "nginx/judge.h"
#include "nginx/zone/fleet_board.h"
#include "nginx/zone/owed_ledger.h"
#include "observe/keys/fleet_keys.h"
#include "observe/recent_traffic.h"
#include "store/redis/fleet/node_fleet.h"
#include "weir/clock.h"

namespace weir::nginx {

class FleetMember {
 public:
  // All must outlive this. The member connects at once.
  struct World {
    Judge& judge;
    FleetBoard& board;
    std::span<std::byte> owed;     // of an OwedLedger
    const HashSecret& own_secret;  // to bring, if the fleet has none
    const Clock& clock;
    std::size_t workers;  // that the nginx has
    std::int32_t process;
    FleetListener::Say say;
  };
  FleetMember(RedisFleetOptions options, std::shared_ptr<const TlsTrust> trust, World world);
  ~FleetMember();
  FleetMember(const FleetMember&) = delete;
  FleetMember& operator=(const FleetMember&) = delete;

  // Waits until Redis can decide rules, or it is clear that it cannot now.
  void join(Duration patience);

  // Handles the events of its connections and the alarms that are due. Waits for `wait` at most.
  void turn(Duration wait);
  int descriptor() const { return loop_.descriptor(); }
  Instant next_timeout() const { return loop_.next_timeout(); }

  // This worker takes no more connections: another worker sends the node's beats.
  void retire();
  // The last call: returns leases and sends all that it owes, for so long at most.
  void leave(Duration patience);

  SharedStoreFigures figures() const { return fleet_.figures(); }

 private:
  NodeAbout about() const;
  void look(Instant now);
  void note();
  void take_seat(const FleetBoard::News& news, Instant now);

  const RedisFleetOptions options_;
  const World world_;
  const FleetBoard::Worker worker_;
  OwedLedger owed_;
  EventLoop loop_;
  SocketDialer dialer_;
  RecentTraffic traffic_;
  FleetKeys keys_{KeyTexts::kHidden};
  NodeFleet fleet_;
  std::unique_ptr<Alarm> looks_;  // rings for looks at the board
  bool has_seat_ = false;
  bool is_retired_ = false;
};

}  // namespace weir::nginx
