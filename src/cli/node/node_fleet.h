// NodeFleet: a node's cores as members of a fleet, and what the log and /health say of it.
//
// Thread rule: made and destroyed with the node; begin(), leave() and end() on each core's
// thread; figures() from any. Tested by tests/e2e/fleet_test.py.

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/adaptive/rule_switches.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "net/loop/event_loop.h"
#include "net/loop/gate.h"
#include "net/socket_dialer.h"
#include "observe/keys/fleet_keys.h"
#include "observe/recent_traffic.h"
#include "observe/rule_counts.h"
#include "server/http/http_node.h"
#include "store/redis/fleet/fleet_state.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/key.h"

namespace weir {

class NodeFleet final : FleetListener {
 public:
  // Runs something on a core's thread, soon.
  using Post = std::function<void(std::size_t core, std::function<void()> action)>;

  // What the cores share with the rest of the node, which must outlive this.
  struct Shared {
    BlockList& blocks;
    RecentTraffic& traffic;
    RuleSwitches& switches;
    const RuleCounts& rule_counts;
    FleetKeys& keys;
  };
  NodeFleet(RedisFleetOptions options, std::size_t cores, const Shared& shared, Post post,
            Instant now);

  // The core joins, and goes. Its engine must outlive the time between.
  void begin(std::size_t core, Engine& engine, EventLoop& loop, SocketDialer& dialer, Instant now);
  void end(std::size_t core);
  // Before it goes, when it has no requests any more: RedisFleet::leave().
  bool leave(std::size_t core, Instant now) { return members_[core].fleet->leave(now); }

  // Open when every core has shared its decisions for the first time.
  const Gate& reached() const { return reached_; }

  SharedStoreFigures figures() const;

 private:
  struct Member {
    Engine* engine = nullptr;
    std::unique_ptr<RedisFleet> fleet;
    std::unique_ptr<Alarm> answers;  // have come: requests that wait for them go on
  };

  void health_changed(const FleetHealth& health) override;
  void fleet_warned(const std::string& sentence) override;
  void fleet_reached() override { reached_.open(); }
  void secret_found(const HashSecret& secret, Instant now) override;

  const RedisFleetOptions options_;
  const Shared shared_;
  const Post post_;
  FleetState state_;
  Gate reached_;
  std::vector<Member> members_;    // each is its core's
  std::deque<KeyHasher> hashers_;  // of the secrets that were found; the first core's
};

}  // namespace weir
