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
// half of its window, or up to a quarter sooner. It also syncs it when this core has spent 1/768 of
// its limit, divided by the stores of the fleet. To reach the limit meanwhile, other nodes must
// admit 1/600 of it in each interval, which is more than all stores together leave unpushed: so the
// bound is the same. But a store with so little demand may go on admitting it until its sync.
//
// No check waits for a trip. A key that is new, or comes after a while, is synced at once rather
// than with the others, if no sync is under way. If many keys come at once, the store syncs them
// within a sixteenth of the interval. Until then it takes a new key for untouched, and believes an
// old copy. rules/promise.h says how far over the limit this leads.
//
// The strict store decides
//   resets, after which the copy is void
//   refunds of units that Redis has charged; other nodes' copies learn of them at their next sync
//   looks at keys without a copy of this interval, and charges that an older copy denies: another
//   node may have reset the key
//   keys whose last sync failed longer ago; and keys without a copy, in a cluster that is not
//   whole
//   sliding_log and exponential_backoff, whose states the script does not send
//   adaptive keys that the node or Redis knows to be in backoff
//   a batch with any of these, as a whole; and keys for which there is no room
//
// No check waits for a Redis that is far away. A look without a copy creates one and takes the key
// for untouched, as a charge does. An old copy decides until its sync is back. All other
// checks of the list above fail, except resets and refunds. So does a key whose last sync failed.
//
// A check fails (kUnavailable) while Redis is known to be away. It also fails for kLostFor after a
// sync of its key has failed: in a cluster one master may be away, and the others not. The store
// keeps what Redis has not charged, and adds what this node admits meanwhile in any mode and by any
// algorithm (note_admitted). It pushes both when Redis is back, as far as the algorithm still
// counts them. If nobody knows whether Redis carried out a sync, the store pushes its units again:
// it counts too much rather than too little. A core that dies loses one interval's units at most,
// and of calm keys what is said above. It loses nothing if it notes elsewhere what it owes
// (owed_units.h), and another core owes it from then on.
//
// Thread rule: the core of its sender. Tested by tests/redis/async_fleet_test.cc and
// tests/redis/async_syncs_test.cc.

#pragma once

#include <array>
#include <cstdint>

#include "observe/shared_store.h"
#include "store/redis/async/syncs.h"
#include "weir/store.h"

namespace weir {

class AsyncStore final : public Store {
 public:
  // All outlive the store. `strict` decides in the same Redis, by the same sender.
  AsyncStore(const AsyncStoreOptions& options, Store& strict, RedisSender& sender,
             Reactor& reactor);

  void decide(Batch& batch, Instant now) noexcept override;

  // This node admitted the charge by other counters, because the store of some mode failed.
  void note_admitted(const Charge& charge, Instant now);
  // A core that is gone has admitted the charge, and Redis may not have charged it. This
  // node's counters have `entered` of its units.
  void owe(const Charge& charge, std::int64_t entered, Instant now) {
    syncs_.owe(charge, entered, now);
  }

  // Redis answers again: pushes at once the units that this node has admitted alone.
  void catch_up(Instant now) { syncs_.catch_up(now); }

  const FleetCounts& counts() const { return counts_; }
  const SyncPeaks& peaks() const { return syncs_.peaks(); }

  // Pushes at once the units that Redis has not charged. True when none are left, or Redis is away.
  // Else the caller calls again, as a key has one sync under way at a time.
  bool tell_all(Instant now) { return syncs_.tell_all(now); }

 private:
  using Numbers = std::array<std::uint32_t, Batch::kChargesMax>;
  static constexpr std::uint32_t kNobody = Syncs::Keys::kNone;

  bool find_all(const Batch& batch, Numbers& numbers);
  AsyncKey::Trust trust(const Batch& batch, const Numbers& numbers, Instant now);
  void fail(Batch& batch, Instant now);
  void decide_here(Batch& batch, const Numbers& numbers, Instant now);
  void spend_all(Batch& batch, const Numbers& numbers, Instant now);
  Decision spend_at(std::uint32_t number, const Charge& charge, Operation operation, Instant now);
  Decision look(std::uint32_t number, const Charge& charge, Instant now);
  void pass_on(Batch& batch, Instant now);
  bool take_back(Batch& batch, Instant now);
  AsyncKey& copy_at(std::uint32_t number) { return syncs_.keys()[number].copy; }

  Store& strict_;
  RedisSender& sender_;
  const Duration interval_;
  const bool is_far_;
  FleetCounts counts_{};
  Syncs syncs_;
};

}  // namespace weir
