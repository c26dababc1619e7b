// RedisFleet: one core of a node among the nodes that share a Redis: its client, its sender, the
// stores of the modes, and on the first core the beat.
//
// Until the core knows the fleet's secret (FleetBeat), keys have no common names. Shared limits
// then fail as if the Redis were away, and rules say what happens. Once it knows the secret, the
// core charges the units that the node has admitted meanwhile (EarlyCharges).
//
// Thread rule: its core, on which it is made and destroyed. Tested by redis_fleet_test.cc
// and tests/e2e.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "engine/fleet.h"
#include "store/redis/async/async_store.h"
#include "store/redis/calls/redis_sender.h"
#include "store/redis/client/link.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_url.h"
#include "store/redis/fleet/early_charges.h"
#include "store/redis/fleet/fleet_beat.h"
#include "store/redis/fleet/fleet_state.h"
#include "store/redis/keys/own_counters.h"
#include "store/redis/leased/leased_store.h"
#include "store/redis/slots/leased_slots.h"
#include "store/redis/strict/redis_holds.h"
#include "store/redis/strict/redis_store.h"
#include "weir/holding_store.h"
#include "weir/store.h"

namespace weir {

struct RedisFleetOptions {
  RedisUrl url;
  Mode mode = Mode::kStrict;  // of rules that name none; kWorld: of the fleet of all places
  Duration deadline = std::chrono::milliseconds(20);
  Duration sync_interval = std::chrono::milliseconds(100);
  std::string prefix = "weir:";
  std::string node;   // its name, like no other's
  std::string title;  // what people call it; empty: as its machine
  HashSecret secret;  // to bring, if the fleet has none yet

  std::size_t keys = 131'072;  // that have leases on a core, and as many that have copies
  // Processes that are this node together, each with as many cores.
  std::size_t processes = 1;
  // The beat is the first core's, or that of the process that begin_beat() names.
  enum class Beat : std::uint8_t { kFirstCore, kByTurns } beat = Beat::kFirstCore;
};

// check:allow(methods): half are a Fleet's, and its node changes the same stores and the beat
class RedisFleet final : public Fleet, RedisListener {
 public:
  // The core's place in the node.
  struct Core {
    std::size_t number;
    RedisSurroundings surroundings;
    FleetTopics topics;
    FleetState& state;
    const FleetListener& listener;
    Store& own_counters;             // this node's, in memory
    std::uint32_t process = 0;       // of a node of several processes
    HoldingStore* tokens = nullptr;  // of slots that the node lends; null: it lends none
    OwedUnits* owed = nullptr;       // AsyncStoreOptions::owed
  };

  // Connects at once. All must outlive the fleet.
  RedisFleet(const RedisFleetOptions& options, const Core& core, Instant now);
  ~RedisFleet();

  Store& store(Mode mode) override;
  Store& leases_at_hand() override;
  const KeyHasher* hasher() const override { return hasher_; }
  bool awaits_hasher() const override { return !has_secret_; }
  // Null until the secret is known: stores fail until then, too.
  SharedHolds* holds(Mode mode) override;
  Mode default_mode() const override { return options_.mode; }
  bool is_spread() const override;
  Duration patience() const override { return options_.deadline; }
  std::int64_t live_nodes() const override { return core_.state.live_nodes(); }
  SharingFacts sharing(const Quota& quota, Instant now) const override;
  void admitted_alone(const Charge& charge, Instant now) override;
  void admitted_early(const KeyName& name, std::span<const Quota> limits, std::int64_t cost,
                      Instant now) override;
  void counted_early(const KeyName& name, std::span<const Quota> limits, std::int64_t cost,
                     Instant now) override;
  // AsyncStore::owe(), for another process of this node.
  void owe(const Charge& charge, std::int64_t entered, Instant now);

  // From now on this core sends the node's beats, or stops to, without a goodbye.
  struct Known {
    HashSecret secret;        // the fleet's, else the one to bring
    std::string blocks_read;  // FleetBeat::Options::blocks_read
  };
  void begin_beat(const Known& known, Instant now);
  void end_beat() { beat_.reset(); }
  // Where it stopped to read the others' blocks; empty if it does not beat.
  std::string blocks_read() const { return beat_ ? beat_->blocks_read() : std::string(); }
  // The other nodes know all blocks that this node knows.
  bool has_told_blocks() const { return beat_ && beat_->has_told_blocks(); }

  bool is_connected() const { return client_->state().phase == LinkState::Phase::kConnected; }
  // The first attempt to connect is over.
  bool has_tried() const { return client_->state().phase != LinkState::Phase::kConnecting; }

  // This core uses the found secret, by this hasher. It charges the units that it has admitted
  // before, under the secret's names.
  void use_secret(const KeyHasher& hasher, Instant now);

  // This core decides nothing more: it pushes what Redis has not charged, gives back its leases,
  // and takes the node out of the count. True when that is done, or cannot be done. Else the caller
  // calls again.
  bool leave(Instant now);

 private:
  // Fails every batch.
  class AwayStore final : public Store {
    void decide(Batch& batch, Instant) noexcept override { batch.fail(); }
  };

  bool is_everywhere() const { return options_.mode == Mode::kWorld; }
  void redis_changed(const LinkState& state, Instant now) override;
  void redis_failed(RedisFailure failure, std::string_view detail, Instant now) override;
  void breaker_changed(Instant now) override;

  void report(Instant now);
  void catch_up(Instant now);
  void publish(Instant now);

  const RedisFleetOptions options_;
  const Core core_;
  AwayStore away_;
  bool has_secret_ = false;
  const KeyHasher own_hasher_;
  const KeyHasher* hasher_ = nullptr;  // of the fleet of all places
  OwnCounters own_counters_;
  EarlyCharges early_;
  EarlyCharges early_here_;   // of keys that only this node counts
  std::string last_failure_;  // of decisions, as a sentence
  std::unique_ptr<RedisClient> client_;
  std::optional<RedisSender> sender_;
  std::unique_ptr<Store> strict_;
  RedisStore* strict_store_ = nullptr;  // the store itself, or in a cluster the one below it
  std::optional<RedisHolds> holds_;
  std::optional<LeasedSlots> slots_;
  std::optional<LeasedStore> leased_;
  std::optional<AsyncStore> async_;
  std::optional<FleetBeat> beat_;
  FleetHealth told_{};  // the health that the first core told
  std::unique_ptr<Alarm> publisher_;
};

}  // namespace weir
