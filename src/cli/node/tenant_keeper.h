// TenantKeeper: the table of tenants that is in force on this node. Requests, other nodes, and the
// file that keeps it over a restart change it.
//
//   weir tenants 2 8f3a96e1c0b2d754      the version, and XXH3's checksum of the rest
//   ...                                  number, secret, since, and the bytes of each bucket
//
// The thread that changes rules reads texts and makes tables. It makes waiting changes of single
// keys together, and offers them to Redis at once. A load in parts waits here; a load that stops
// half-way is forgotten after a minute.
//
// Thread rule: one thread makes it, loads and saves the file; the rest from any.
// Tested by tenant_keeper_test.cc and
// tests/e2e/tenants_test.py.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "cli/kept/sealed_file.h"
#include "cli/node/rule_changer.h"
#include "engine/tenants/shared_tenants.h"
#include "observe/unusual/traffic_events.h"
#include "rulebook/tenants/tenant_desk.h"
#include "rulebook/tenants/tenant_reader.h"
#include "rules/rule_set.h"

namespace weir {

// A table as bytes for its file (base/packed.h): number, secret, whether there is a `since`, that;
// of each bucket with rows its number and rows. Nothing if the bytes are not what to_bytes() says.
std::string to_bytes(const SharedTenants::Version& version);
std::optional<SharedTenants::Version> tenants_in(std::string_view bytes);

class TenantKeeper final : public TenantDesk {
 public:
  // How long a change waits for a failed Redis, and for other nodes' changes.
  static constexpr Duration kOfferMax = std::chrono::seconds(1);
  static constexpr Duration kNewsMax = std::chrono::seconds(10);
  // Retry-After of a change that may succeed later.
  static constexpr Duration kRetryAfter = std::chrono::seconds(1);
  static constexpr Duration kPartMax = std::chrono::minutes(1);

  // All objects that it refers to outlive this. `fleet`: null if the node is alone.
  struct World {
    RuleChanger& changer;
    std::function<RuleSetPtr()> rules;
    std::function<void()> apply;   // hands all cores the table of view()
    std::function<Instant()> now;  // by a clock
    std::function<void(TrafficEvent)> tell;
    SharedTenants* fleet = nullptr;
  };
  TenantKeeper(World world, const HashSecret& secret);

  TenantView view() const override;
  void change(TenantChange change, Done done) override;
  void follow_fleet();

  // Puts the file's table in force, and keeps the table there; without a path nothing is kept. The
  // fault says why it cannot. A damaged file is moved to PATH.broken.
  std::optional<Fault> keep_in(std::string path);
  // Saves changes since the last time, and logs an error once. Forgets an old load. Changes that
  // Redis does not have are saved before they are answered.
  void save();

 private:
  using Version = SharedTenants::Version;
  // Edits, and the table under whose secret their keys are hashed.
  struct Wanted {
    TenantTablePtr table{};
    TenantTable::Edits edits{};
  };
  struct Job {
    TenantChange change;
    Done done;
    Wanted wanted{};
    bool is_new = false;  // the row
    std::optional<TenantReply> reply{};

    bool is_one() const {
      return change.kind == TenantChange::Kind::kPut || change.kind == TenantChange::Kind::kRemove;
    }
    bool is_between() const {
      return change.part && change.part->number > 1 && change.part->number < change.part->of;
    }
    bool goes_with_others() const { return is_one() && !change.if_tag && !change.if_version; }
  };
  using Jobs = std::vector<std::shared_ptr<Job>>;
  struct Load {
    std::string name;
    std::size_t parts = 0;  // that have come
    std::size_t of = 0;     // that belong to the load
    TenantChange::Kind kind{};
    Instant last{};
    std::unique_ptr<TenantReader> reader;
  };

  void work_off();
  void make(const Jobs& jobs);
  TenantReply refusal(ChangeOutcome outcome, std::string detail) const;
  std::optional<TenantReply> read(const TenantChange& change, Wanted& wanted);
  void keep_load(std::optional<Load> load);
  std::optional<TenantReply> read_part(const TenantChange& change, Load& load);
  void put_in_force(const Jobs& jobs);
  TenantTable::Edits edits_of(const Jobs& jobs, const Version& before);
  SharedTenants::Outcome offer(SharedTenants::Offer offer, const Version& before);
  bool catch_up();
  void follow();
  void note_lost(const SharedHead& since, const Version& theirs);
  void keep();
  void use(Version version);
  Version current() const;
  std::unique_ptr<TenantReader> reader() const;

  const World world_;
  std::optional<Load> load_;  // the changer's thread uses this and the next
  TenantTablePtr before_;     // that of Version::since; null: there is none, or it is forgotten
  std::atomic<Instant> load_end_{Instant::max()};
  mutable std::mutex mutex_;  // guards the fields below
  std::deque<std::shared_ptr<Job>> waiting_;
  std::optional<TenantView::Lost> lost_;
  Version version_;
  std::mutex keeping_;  // guards the fields below
  SealedFile file_;
  Version saved_{};  // without its table
};

}  // namespace weir
