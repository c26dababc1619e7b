// NodeFleet: the cores of a process as members of a fleet, and the fleet's log lines and /health.
//
// Thread rule: made and destroyed with the process's part in the fleet; begin(), leave() and end()
// on each core's thread; figures() from any. Tested by tests/e2e/fleet_test.py and
// tests/nginx/fleet_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/setting_values.h"
#include "engine/engine.h"
#include "observe/shared_store.h"
#include "store/redis/fleet/fleet_state.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/key.h"
#include "weir/result.h"

namespace weir {

class NodeFleet {
 public:
  // Shared by the cores with the rest of the process, which outlives this.
  struct World {
    FleetTopics topics;
    // Runs something on a core's thread, soon.
    std::function<void(std::size_t core, std::function<void()> action)> post;
    // Hears of a secret when it is in use on the core that found it.
    FleetListener listener{};
    std::uint32_t salt = 0;  // of chance; different in each process of a node
    OwedUnits* owed = nullptr;
  };
  NodeFleet(RedisFleetOptions options, std::size_t cores, World world, Instant now);

  // The core joins, and leaves. Its engine must outlive the time between.
  void begin(std::size_t core, Engine& engine, Reactor& reactor, Dialer& dialer, Instant now);
  void end(std::size_t core);
  // Before end(), when the core has no requests any more: RedisFleet::leave().
  bool leave(std::size_t core, Instant now) { return at(core).leave(now); }

  RedisFleet& at(std::size_t core) { return *members_[core].fleet; }
  FleetState& state() { return state_; }
  SharedStoreFigures figures() const;

  // From now on every core hashes keys under it. Harmless if they do already.
  void use_secret(const HashSecret& secret, Instant now);
  // The secret in use; nullopt: the fleet's is not known yet.
  const std::optional<HashSecret>& secret() const { return secret_; }

 private:
  struct Member {
    Engine* engine = nullptr;
    std::unique_ptr<RedisFleet> fleet{};
    std::unique_ptr<Alarm> answers{};  // have come: requests that wait for them go on
  };

  const RedisFleetOptions options_;
  World world_;
  FleetState state_;
  std::vector<Member> members_;  // each is its core's
  // The first core's.
  std::optional<HashSecret> secret_;
  std::deque<KeyHasher> hashers_;  // of the secrets that were found
};

// The `store:` settings: whether a node shares a Redis with others, and how.
//
// Thread rule: values. Tested by src/cli/node/settings_test.cc and src/nginx/gateway_test.cc.

// nullopt: the node is alone. Neither its name nor its secret is among the settings.
Result<std::optional<RedisFleetOptions>, SettingMistake> fleet_settings(
    const SettingValues& values);
// The same for the Redis that all places reach, with which nodes sync at this interval.
inline constexpr Duration kWorldSyncInterval = std::chrono::seconds(1);
Result<std::optional<RedisFleetOptions>, SettingMistake> world_settings(
    const SettingValues& values);

}  // namespace weir
