// TenantKeeper: the table of tenants that is in force on this node. It changes in three ways:
// by requests, by other nodes, and by the file that keeps it over a restart.
//
//   weir tenants 1 8f3a96e1c0b2d754      the version, and XXH3's checksum of what follows
//   ...                                  number, secret, and the bytes of each bucket
//
// Texts are read, and tables made, on the thread that changes rules. A load that comes in parts
// waits here; one that stops half-way gives way to the next after a minute.
//
// Thread rule: one thread makes it, loads and saves the file; the rest from any.
// Tested by tests/e2e/tenants_test.py.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "cli/node/rule_changer.h"
#include "engine/tenants/shared_tenants.h"
#include "rulebook/tenants/tenant_desk.h"
#include "rulebook/tenants/tenant_reader.h"
#include "rules/rule_set.h"

namespace weir {

class TenantKeeper final : public TenantDesk {
 public:
  // How long a change waits for Redis while nothing goes on.
  static constexpr Duration kOfferMax = std::chrono::seconds(1);
  static constexpr Duration kPartMax = std::chrono::minutes(1);

  // All that they refer to outlives this. `fleet`: null if the node is alone.
  struct World {
    RuleChanger& changer;
    std::function<RuleSetPtr()> rules;
    std::function<void()> apply;   // hands all cores the table of view()
    std::function<Instant()> now;  // of a clock
    SharedTenants* fleet = nullptr;
  };
  TenantKeeper(World world, const HashSecret& secret);

  TenantView view() const override;
  void change(TenantChange change, Done done) override;
  void follow_fleet();

  // Puts the table of the file in force, and keeps it there; no path: nothing is kept. The fault
  // says why it cannot. One that is damaged is moved to PATH.broken.
  std::optional<Fault> keep_in(std::string path);
  // If anything has changed since the last time. Logs an error once.
  void save();

 private:
  using Version = SharedTenants::Version;
  // Edits, and a table under whose secret their keys are hashed.
  struct Wanted {
    TenantTablePtr table{};
    TenantTable::Edits edits{};
  };
  struct Load {
    std::string name;
    std::size_t parts = 0;  // that have come
    std::size_t of = 0;     // how many are to come
    TenantChange::Kind kind{};
    Instant last{};
    std::unique_ptr<TenantReader> reader;
  };

  TenantReply make(const TenantChange& change);
  TenantReply refusal(ChangeOutcome outcome, std::string detail) const;
  std::optional<TenantReply> read(const TenantChange& change, Wanted& wanted);
  std::optional<TenantReply> read_part(const TenantChange& change, Load& load);
  TenantReply put_in_force(const TenantChange& change, const Wanted& wanted);
  void follow();
  void use(Version version);
  Version current() const;
  std::unique_ptr<TenantReader> reader() const;

  const World world_;
  std::optional<Load> load_;  // of the changer's thread
  mutable std::mutex mutex_;  // guards what follows
  Version version_;
  std::string path_;  // of the thread that saves, as are these
  SharedTenants::Head saved_{};
  bool has_failed_ = false;
};

}  // namespace weir
