// SimTenants: the table of tenants of a simulated node, kept as in cli/node/tenant_keeper.cc, but
// without a waiting thread: changes wait here.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/tenants/shared_tenants.h"
#include "proto/reactor.h"

namespace weir::sim {

class SimTenants {
 public:
  using Rows = std::map<std::string, std::int64_t>;  // limits; kGone: no row any more
  static constexpr std::int64_t kGone = TenantTable::kGone;
  struct Change {
    Rows rows;
    TenantTablePtr before{};  // the table that it was last based on
    SharedTenants::Version made{};
  };
  // Hears of a node's offers, and of their outcome.
  struct Listener {
    std::function<void(const Change&)> offered;
    std::function<void(const Change&, SharedTenants::Outcome)> settled;
  };

  SimTenants(const HashSecret& secret, Engine& engine, Reactor& reactor, Listener listener);

  void change(Rows rows);
  SharedTenants& shared() { return shared_; }
  const TenantTable& table() const { return *engine_.tenants; }
  std::uint64_t uses() const { return uses_; }  // how many tables have been in force

 private:
  void go_on(Instant now);
  void offer(Instant now);
  void follow();
  void use(TenantTablePtr table);

  Engine& engine_;
  const Listener listener_;
  std::deque<Change> waiting_;  // if there is a deadline, the first is offered
  std::optional<Instant> patience_end_;
  std::uint64_t uses_ = 0;
  std::unique_ptr<Alarm> steps_;
  SharedTenants shared_{[this](Instant) { follow(); }};
};

}  // namespace weir::sim
