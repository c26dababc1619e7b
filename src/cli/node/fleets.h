// Fleets: the two fleets with which a node may share limits: the nodes of its place, and the nodes
// of all places (docs/how-to/several-places.md).
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

// The authorities that the node trusts for the Redis of its place, and for that of all places.
// REQUIRES: settings.fleet
Result<std::shared_ptr<const TlsTrust>, Fault> trust_of(const Settings& settings);

class Fleets {
 public:
  struct Node {
    std::string name;   // like no other node's
    HashSecret secret;  // to bring, if the fleet has none yet
    std::size_t cores;
    FleetTopics topics;
    std::function<void(std::size_t core, std::function<void()> action)> post;
    std::function<void()> reached = [] {};  // FleetListener::reached, of the place
  };
  // REQUIRES: settings.fleet
  Fleets(const Settings& settings, const Node& node, Instant now);

  // As in NodeFleet.
  void begin(std::size_t core, Engine& engine, Reactor& reactor, Dialer& dialer, Instant now);
  void end(std::size_t core);
  bool leave(std::size_t core, Instant now);

  bool is_healthy() { return place_->state().health().is_healthy; }
  SharedStoreFigures place() const { return place_->figures(); }
  // nullopt: there is only one place.
  std::optional<SharedStoreFigures> world() const {
    return world_ ? std::optional(world_->figures()) : std::nullopt;
  }

 private:
  std::optional<NodeFleet> place_;
  std::optional<NodeFleet> world_;
};

}  // namespace weir
