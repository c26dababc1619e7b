// SimTenants: the table of tenants of a simulated node, kept as cli/node/tenant_keeper.cc does, but
// without a thread that waits: changes wait here.
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
  using Rows = std::map<std::string, std::int64_t>;  // limits; kGone: none any more
  static constexpr std::int64_t kGone = TenantTable::kGone;
  struct Change {
    Rows rows;
    TenantTablePtr before{};  // of the table that it was made of last
    SharedTenants::Version made{};
  };
  // A node tells of what it offers, and of what has come of that.
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
  std::deque<Change> waiting_;  // the first is offered, if there is a deadline
  std::optional<Instant> patience_end_;
  std::uint64_t uses_ = 0;
  std::unique_ptr<Alarm> steps_;
  SharedTenants shared_{[this](Instant) { follow(); }};
};

}  // namespace weir::sim
