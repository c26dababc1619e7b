// AsyncStore: decides in memory, and exchanges counts with Redis soon, for one core. Mode async.
// async_store.cc opens with a timeline.
//
//   check ──> the key's copy ──decided at once──> answer
//                │ ▲
//     units spent│ │what all nodes have spent
//                ▼ │
//              Redis, every half interval, for the keys that were used in it
//
// A key's copy is Redis's state as of the last sync, plus what this core has spent since that sync
// left. The store decides on it at Redis's time, which every sync measures. Redis charges the
// units whatever the limit says, and sends the state back. A unit takes half an interval to reach
// Redis and as long to reach the others. So the store exceeds the limit by at most what arrives
// within one interval and one trip; then every node denies. (Three trips, if a trip takes longer
// than half an interval: a key has one sync under way at a time.)
//
// A key with more than half of its limit left is calm. The store syncs it after kCalmIntervals, or
// half of its window, or up to a quarter sooner, or when this core has spent 1/768 of its limit,
// divided by the stores of the fleet. To reach the limit meanwhile, other nodes must admit 1/600
// of it in each interval, which is more than all stores together leave unpushed: so the bound
// is the same. But a store with so little demand may go on admitting that little for as long.
//
// No check waits for a trip. A key that is new, or comes after a while, is synced at once rather
// than with the others, if no sync is under way; where many do, within a sixteenth of the interval.
// Until then the store takes a new key for untouched.
//
// The strict store decides
//   resets, after which the copy is void
//   refunds of units that Redis has charged; other nodes' copies learn of them at their next sync
//   looks at keys without a copy of this interval, and charges that an older copy denies: another
//   node may have reset the key
//   keys whose last sync failed longer ago; and keys without a copy, in a cluster that is not
//   whole
//   sliding_log and exponential_backoff, whose states the script does not send, and adaptive keys
//   in backoff, by what the node or what Redis knows
//   a batch with any of those, as a whole; and keys for which there is no room
//
// A check fails (kUnavailable) while Redis is known to be away, and for kLostFor after a sync of
// its key has failed: in a cluster one master may be away, and the others not. The store keeps
// what Redis has not charged, adds what this node admits meanwhile in any mode and by any
// algorithm (note_admitted), and pushes
// both when Redis is back, as far as the algorithm still counts them. If nobody knows whether
// Redis carried out a sync, the store pushes its units again: it counts too much rather than too
// little. A core that dies loses one interval's units at most, and of calm keys what is said above;
// nothing if it notes elsewhere what it owes (owed_units.h), and another owes it from then on.
//
// Thread rule: the core of its client and reactor. Tested by tests/redis/async_fleet_test.cc and
// tests/redis/async_syncs_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "observe/fleet_counts.h"
#include "proto/reactor.h"
#include "store/redis/async/owed_units.h"
#include "store/redis/calls/redis_trips.h"
#include "store/redis/keys/key_table.h"
#include "store/redis/keys/own_counters.h"
#include "weir/store.h"

namespace weir {

struct AsyncStoreOptions {
  RedisStoreOptions redis;
  Duration interval = std::chrono::milliseconds(100);                     // > 0
  std::function<std::int64_t()> stores = [] { return std::int64_t{1}; };  // of the fleet
  std::size_t keys = 131'072;                                             // that have copies
  OwedUnits* owed = nullptr;  // outlives the store; null: what is unpushed dies with the process
};

class AsyncStore final : public Store, private TripOwner {
 public:
  // A trip that takes longer is an outage.
  static constexpr Duration kPatience = std::chrono::milliseconds(500);
  // After a failed sync the key fails its checks at once for so long.
  static constexpr Duration kLostFor = 2 * kPatience;
  static constexpr int kCalmIntervals = 300;
  // The part of its limit that all stores together may leave unpushed of a calm key: less than
  // comes in an interval if half of the limit comes in kCalmIntervals.
  static constexpr std::int64_t kUntoldPart = 768;
  static_assert(kUntoldPart > 2 * kCalmIntervals);

  // All outlive the store. `strict` decides in the same Redis.
  AsyncStore(const AsyncStoreOptions& options, Store& strict, RedisClient& client, Reactor& reactor,
             RedisListener& listener);

  void decide(Batch& batch, Instant now) noexcept override;

  // This node has admitted the charge by other counters, as the store of some mode failed.
  void note_admitted(const Charge& charge, Instant now);
  // A core that is gone has admitted the charge, and Redis may not have charged it. This
  // node's counters have `entered` of its units.
  void owe(const Charge& charge, std::int64_t entered, Instant now);

  // Redis answers another store: pushes at once what this node has admitted alone.
  void catch_up(Instant now);

  const FleetCounts& counts() const { return counts_; }
  const RedisTrips& trips() const { return trips_; }

  // Pushes at once what Redis has not charged. True when nothing is left to push, or Redis is away;
  // else the caller calls again, as a key has one sync under way at a time.
  bool tell_all(Instant now);

 private:
  // What every check reads comes first, as much as KeyTable fetches.
  struct Key {
    SyncedState state{};       // at Redis's time
    Duration ahead{0};         // Redis's clock, of ours
    std::int64_t pending = 0;  // units that no sync has pushed
    Instant synced_at{};       // when the last sync left
    // kVoid: the state that comes back does not include a reset or a refund.
    enum class Trip : std::uint8_t { kNone, kOut, kVoid } trip = Trip::kNone;
    enum class Listed : std::uint8_t { kNo, kCalm, kSoon } listed = Listed::kNo;
    bool is_in_calm = false;  // has an entry in calm_
    bool is_copy = false;     // Redis has sent the state at least once
    bool is_denied = false;   // at the last check
    bool is_lost = false;     // its last sync has failed, and Redis was there
    Quota quota;

    std::int64_t told = 0;     // units that are on their way
    std::int64_t entered = 0;  // of the pending, units that this node's counters have
    std::int64_t alone = 0;    // of the pending and told, units admitted while Redis was away
    Instant calm_until{};
    Instant lost_at{};
    OwedUnits::Note* note = nullptr;  // while it owes units, and there is room for one
  };
  struct Calm {
    Instant until;
    std::uint32_t place;
  };
  using Places = std::array<std::uint32_t, Batch::kChargesMax>;
  static constexpr std::uint32_t kNobody = KeyTable<Key>::kNone;

  // For RedisTrips.
  void leaving(Errand& errand, Instant now) override;
  ChargeFailure done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                     Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  bool find_all(const Batch& batch, Places& places);
  bool is_just_lost(const Batch& batch, const Places& places, Instant now);
  bool is_trusted(const Batch& batch, const Places& places, Instant now);
  void fail(Batch& batch, Instant now);
  void decide_here(Batch& batch, const Places& places, Instant now);
  void spend_all(Batch& batch, const Places& places, Instant now);
  Decision spend_at(std::uint32_t place, const Charge& charge, Operation operation, Instant now);
  Decision look(std::uint32_t place, const Charge& charge, Instant now);
  void pass_on(Batch& batch, Instant now);
  void give_back(Key& key, const Charge& charge, Instant now);
  bool take_back(Batch& batch, Instant now);
  void forget(std::uint32_t place);
  void take_terms(std::uint32_t place, const Quota& quota);
  void note(std::uint32_t place);
  static std::int64_t sum_of(std::int64_t units, std::int64_t more) {
    return std::min(2 * kCostMax, units + more);
  }

  void enter_pending(std::uint32_t place, Instant now);
  std::uint32_t place_for(const Charge& charge);
  bool make_room();
  Duration calm_length(const Quota& quota) const;
  bool is_calm(const Key& key, const Decision& decision, Instant now) const;
  void list_calm(std::uint32_t place);
  void push_calm(const Calm& calm);
  void wake_calm(Instant now);
  void touch(std::uint32_t place, Instant now);
  void list(std::uint32_t place);
  void sync_by(Instant when);
  void sync_touched(Instant now);
  void set_out(std::uint32_t place, Instant now);
  void drop_expired(std::uint32_t place, Instant now);
  void forget_expired(Instant now);

  const std::function<std::int64_t()> stores_;
  Store& strict_;
  OwedUnits* const owed_;
  RedisTrips trips_;
  KeyTable<Key> keys_;
  OwnCounters own_counters_;
  FleetCounts counts_{};
  const Duration period_;                   // of syncs
  std::int64_t untold_part_ = kUntoldPart;  // of one store
  Duration ahead_{0};                       // Redis's clock, as of the last sync
  std::uint64_t removed_ = 0;               // keys, for others
  std::vector<Calm> calm_;                  // a heap, the earliest first
  std::vector<std::uint32_t> touched_;
  std::size_t swept_ = 0;               // the place in touched_ that forget_expired() saw last
  std::vector<std::uint32_t> syncing_;  // those of touched_, while they are taken up
  Instant last_sync_{};
  Instant counted_from_{};  // syncs_ since then, for a period
  int syncs_ = 0;
  Instant next_sync_ = Instant::max();
  std::unique_ptr<Alarm> sync_alarm_;
};

}  // namespace weir
