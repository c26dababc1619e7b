// Checks: the promises of Weir. Each is a class that watches a simulation for a broken promise.
//
// A check hears of each request's question and answer, and of faults. It also looks around now and
// then. The first check that fails ends the simulation.
//
// Thread rule: one thread. Tested by simulate_test.cc; that each can fail is shown by mutants.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ask.h"
#include "simulate/scenario.h"
#include "simulate/tenants.h"
#include "weir/holding_store.h"

namespace weir::sim {

class World;

enum class Verb : std::uint8_t { kHit, kLook, kCharge, kRefund, kReserve, kCommit };

// One rule and key of a request.
struct Part {
  std::uint32_t rule = 0;  // its place among the rules
  std::uint32_t key = 0;
  std::int64_t cost = 1;
  Verb verb = Verb::kHit;
};

// A reservation's length; a commit's reserved units.
struct Work {
  Duration hold{0};
  std::string token{};
  std::uint64_t number = 0;  // Asked::number of the reservation
};

// A request: all its parts or none. Times are true.
struct Asked {
  std::size_t node = 0;
  std::size_t life = 0;
  std::size_t source = 0;  // of traffic; kNoSource: a step
  std::vector<Part> parts;
  Instant at{};
  Instant at_node{};   // on the node's clock
  Instant at_redis{};  // on Redis's clock
  std::uint64_t number = 0;
  Work work{};

  static constexpr std::size_t kNoSource = SIZE_MAX;
};

struct Answered {
  const Asked& asked;
  Instant at{};
  bool is_unavailable = false;
  const std::vector<Answer>& answers;  // parallel to the parts; means nothing for a commit
  std::string_view token{};            // of a reservation that holds
  HoldingStore::Commit committed{};
  std::optional<HoldToken> here{};  // of a slot, in the node's own store

  bool is_allowed() const {
    for (const Answer& answer : answers) {
      if (!answer.allowed()) return false;
    }
    return !is_unavailable;
  }
};

class Check {
 public:
  explicit Check(World& world) : world_(world) {}
  virtual ~Check() = default;

  virtual std::string_view promise() const = 0;
  virtual void asked(const Asked&) {}
  virtual void answered(const Answered&) {}
  // Redis had confirmed so many units of a key, and has lost them.
  virtual void lost(std::uint32_t /*rule*/, std::uint32_t /*key*/, std::int64_t /*units*/) {}
  // A node is about to stop, in any way.
  virtual void stops(std::size_t /*node*/) {}
  // A node has started again.
  virtual void restarted(std::size_t /*node*/) {}
  virtual void faulted(const Fault&) {}
  // Nodes have named keys by several secrets: shared counts have begun at 0 under each.
  virtual void named_anew() {}
  // A node has made another table of tenants; Redis has taken it, or not.
  virtual void offered(std::size_t /*node*/, const SimTenants::Change&) {}
  virtual void settled(std::size_t /*node*/, const SimTenants::Change&, SharedTenants::Outcome) {}
  // Every quarter of a second, and at the end.
  virtual void look() {}
  virtual void end() {}
  // Only if there was no fault: all nodes have left in good order.
  virtual void have_left() {}

 protected:
  void fail(const std::string& what);
  World& world_;
};

using Checks = std::vector<std::unique_ptr<Check>>;

// All checks.
Checks make_checks(World& world);

}  // namespace weir::sim
