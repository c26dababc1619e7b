// FleetMember: one worker of an nginx that shares a Redis with other nodes.
//
//   nginx's loop ── readable, or next_timeout() ──> turn() ──> EventLoop ──> Redis
//
// Each worker has connections of its own to the Redis, and decides there by itself. All workers
// together are one node: which of them says the node's word is on the board (fleet_board.h), where
// the others read what is known of the fleet. Blocks travel
//
//   here    a worker's log entry -> who has the seat -> Redis -> other nodes
//   there   Redis -> who has the seat -> log -> all workers
//
// Thread rule: the worker's only thread. Tested by tests/nginx/fleet_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/adaptive/active_algorithms.h"
#include "engine/adaptive/rule_switches.h"
#include "net/loop/event_loop.h"
#include "net/socket_dialer.h"
#include "net/tls/tls_context.h"
#include "nginx/judge.h"
#include "nginx/zone/fleet_board.h"
#include "nginx/zone/owed_ledger.h"
#include "observe/keys/fleet_keys.h"
#include "observe/recent_traffic.h"
#include "server/http/http_node.h"
#include "store/redis/fleet/fleet_state.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/clock.h"

namespace weir::nginx {

class FleetMember final : FleetListener {
 public:
  enum class Severity : std::uint8_t { kNotice, kWarning };
  using Say = std::function<void(Severity, const std::string& sentence)>;

  // All must outlive this. Connects.
  struct World {
    Judge& judge;
    FleetBoard& board;
    std::span<std::byte> owed;     // of an OwedLedger
    const HashSecret& own_secret;  // to bring, if the fleet has none
    const Clock& clock;
    std::size_t workers;  // that the nginx has
    std::int32_t process;
    Say say;
  };
  FleetMember(RedisFleetOptions options, std::shared_ptr<const TlsTrust> trust, World world);
  ~FleetMember();
  FleetMember(const FleetMember&) = delete;
  FleetMember& operator=(const FleetMember&) = delete;

  // Waits until rules can be decided in Redis, or it is clear that they cannot now.
  void join(Duration patience);

  // Handles the events of its connections and the alarms that are due. Waits for `wait` at most.
  void turn(Duration wait);
  int descriptor() const { return loop_.descriptor(); }
  Instant next_timeout() const { return loop_.next_timeout(); }

  // This worker takes no more connections: another says the node's word.
  void retire();
  // The last call: gives back and sends what it owes, for so long at most.
  void leave(Duration patience);

  SharedStoreFigures figures() const;

 private:
  void health_changed(const FleetHealth& health) override;
  void fleet_warned(const std::string& sentence) override;
  void secret_found(const HashSecret& secret, Instant now) override;
  void about_to_beat(Instant now) override { world_.judge.blocks().learn(now); }

  RedisFleet::Core place();
  void look(Instant now);
  void note();
  void take_seat(const FleetBoard::News& news, Instant now);
  void use_secret(const HashSecret& secret, Instant now);

  const RedisFleetOptions options_;
  const World world_;
  const FleetBoard::Worker worker_;
  OwedLedger owed_;
  EventLoop loop_;
  SocketDialer dialer_;
  RecentTraffic traffic_;
  ActiveAlgorithms active_;
  RuleSwitches switches_;
  FleetKeys keys_{KeyTexts::kHidden};
  FleetState state_;
  std::unique_ptr<RedisFleet> fleet_;
  std::unique_ptr<Alarm> answers_;  // have come: requests that wait for them go on
  std::unique_ptr<Alarm> looks_;    // at the board
  std::deque<KeyHasher> hashers_;   // of the secrets that were found
  std::optional<HashSecret> secret_;
  bool has_seat_ = false;
  bool is_retired_ = false;
};

}  // namespace weir::nginx
