// SimNode: one running node of a simulation, put together as in src/cli/node/node.cc. It has one
// core, no doors and no files, but engine, memory, blocks, rules, traffic, and a part in the fleet.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "engine/asks/asks_pool.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "engine/switching/active_algorithms.h"
#include "engine/switching/rule_switches.h"
#include "observe/keys/fleet_keys.h"
#include "observe/recent_traffic.h"
#include "observe/traffic.h"
#include "simulate/machine.h"
#include "simulate/network.h"
#include "simulate/scenario.h"
#include "simulate/tenants.h"
#include "store/redis/fleet/node_fleet.h"
#include "weir/holding_store.h"
#include "weir/memory_store.h"

namespace weir::sim {

class SimNode {
 public:
  struct Setup {
    std::size_t number = 0;
    std::size_t life = 0;  // how often a node has started here before
    Machine& machine;
    Network& network;
    const Means& means;
    std::optional<std::size_t> place{};  // nullopt: there is one place
    std::uint64_t seed = 0;
    std::function<void(const std::string& sentence)> say{};
    SimTenants::Listener tenants{};
    std::function<void()> named{};  // its keys are named by a fleet's secret from now on
  };

  explicit SimNode(Setup setup);
  ~SimNode();
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;

  Instant now() const { return setup_.machine.now(); }
  const RuleSet& rules() const { return *pool_.rules(); }
  AsksPool& pool() { return pool_; }
  BlockList& blocks() { return blocks_; }
  MemoryStore& memory() { return *memory_; }
  HoldingStore& holds() { return holds_; }
  SimTenants* tenants() { return tenants_.get(); }  // null: no rule uses them
  // The fleet with which it counts: the nodes of all places, if there are several.
  NodeFleet* fleet() { return world_ ? &*world_ : fleet_ ? &*fleet_ : nullptr; }
  // Whether its keys have the names that all nodes know.
  bool is_sharing() const {
    return world_ ? !engine_.world->awaits_hasher() : !fleet_ || !engine_.awaits_hasher();
  }
  const KeyHasher& hasher() const { return world_ ? *engine_.world->hasher() : engine_.hasher(); }
  // Tells secrets apart: the hash of an empty text under the current secret.
  std::uint64_t secret_number() const { return hasher().hash({}, Quota()).low; }

  void reload() { pool_.use_rules(compiled()); }
  // For this rule, or for all if `rule` is empty.
  void use_zone(std::string_view zone, std::string_view rule);
  // NodeFleet::leave().
  bool leave() {
    const bool has_left_world = !world_ || world_->leave(0, now());
    return (!fleet_ || fleet_->leave(0, now())) && has_left_world;
  }
  // The address of a place's own Redis.
  static std::string redis_of(std::size_t place) {
    return "redis" + std::to_string(place) + ":6379";
  }

 private:
  RuleSetPtr compiled();
  void join();
  // `named`: once the fleet's secret is known, which names the keys.
  void join(std::optional<NodeFleet>& fleet, RedisFleetOptions options, FleetTopics topics,
            std::function<void()> named);
  void post(std::function<void()> action);
  void follow_seconds(Instant now);

  const Setup setup_;
  std::vector<Rule> written_;  // the rules, as in a file
  Prng tokens_;                // of the node's secret, and of its holds' tokens
  const HashSecret secret_;
  const std::string name_;
  std::unique_ptr<MemoryStore> memory_;
  HoldingStore holds_;
  KeyHasher hasher_;
  BlockList blocks_;
  ActiveAlgorithms active_;
  Traffic traffic_;
  FleetKeys keys_{KeyTexts::kHidden};
  RecentTraffic recent_;
  RuleSwitches switches_;
  Engine engine_;
  AsksPool pool_;
  SimReactor reactor_;
  SimDialer dialer_;
  std::deque<std::function<void()>> posted_;
  std::unique_ptr<Alarm> posts_;
  std::unique_ptr<Alarm> seconds_;
  std::unique_ptr<SimTenants> tenants_;
  std::optional<NodeFleet> fleet_;
  std::optional<NodeFleet> world_;
};

}  // namespace weir::sim
