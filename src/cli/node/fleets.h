// Fleets: those with whom a node shares its limits: the nodes of its place, and those of all places
// (docs/how-to/several-places.md).
//
// Thread rule: made and destroyed with the server; begin(), leave() and end() on each core's
// thread; figures from any. Tested by tests/e2e/places_test.py and tests/e2e/fleet_test.py.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fault.h"
#include "cli/node/settings.h"
#include "engine/engine.h"
#include "net/tls/tls_context.h"
#include "observe/shared_store.h"
#include "store/redis/fleet/node_fleet.h"
#include "weir/key.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

// Whom the node trusts when it connects to the Redis of its place, and to that of all places.
// REQUIRES: settings.fleet
Result<std::shared_ptr<const TlsTrust>, Fault> trust_of(const Settings& settings);

class Fleets {
 public:
  struct Node {
    std::string name;   // like no other's
    HashSecret secret;  // to bring, where there is none yet
    std::size_t cores;
    FleetTopics topics;
    std::function<void(std::size_t core, std::function<void()> action)> post;
    std::function<void()> reached;  // NodeFleet::World::reached, of the place
  };
  // REQUIRES: settings.fleet
  Fleets(const Settings& settings, const Node& node, Instant now);

  // As NodeFleet's.
  void begin(std::size_t core, Engine& engine, Reactor& reactor, Dialer& dialer, Instant now);
  void end(std::size_t core);
  bool leave(std::size_t core, Instant now);

  bool is_healthy() { return place_->state().health().is_healthy; }
  SharedStoreFigures place() const { return place_->figures(); }
  // Nothing: there is but one place.
  std::optional<SharedStoreFigures> world() const {
    return world_ ? std::optional(world_->figures()) : std::nullopt;
  }

 private:
  std::optional<NodeFleet> place_;
  std::optional<NodeFleet> world_;
};

}  // namespace weir
