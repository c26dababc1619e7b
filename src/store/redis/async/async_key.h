// AsyncKey: one core's copy of a key in Redis, and the units that Redis does not know yet.
//
//             set_out()           leave()            receive()
//   spent ──────────────> a sync ─────────> told ───────────────> charged, and the copy is new
//     ^                                      │ lose()
//     └──────────────────────────────────────┘
//
// Units are pending until a sync leaves, and told until it is back. A key has one sync at a time. A
// reset, or a refund of units that Redis has charged, voids the state that a sync under way brings.
// Units admitted while Redis was away are pushed as far as the algorithm still counts them.
//
// `now` is this node's time. The copy is decided at Redis's time, which syncs measure.
//
// Thread rule: one core. Tested by async_key_test.cc.

#pragma once

#include <cstdint>
#include <optional>

#include "rules/promise.h"
#include "store/redis/async/synced_state.h"
#include "weir/store.h"

namespace weir {

// check:allow(methods): each changes the copy together with the units that Redis does not know
class AsyncKey {
 public:
  // A sync that takes longer is an outage.
  static constexpr Duration kPatience = std::chrono::milliseconds(500);
  // For so long after a failed sync, the key fails its checks at once.
  static constexpr Duration kLostFor = 2 * kPatience;
  static constexpr int kCalmIntervals = 300;
  // SharingFacts::kUntoldPart, of a calm key.
  static constexpr std::int64_t kUntoldPart = SharingFacts::kUntoldPart;
  static_assert(kUntoldPart > 2 * kCalmIntervals);

  // A new key counts as untouched.
  AsyncKey(const Quota& quota = {}, Duration ahead = {}) : ahead_(ahead), quota_(quota) {}

  const Quota& quota() const { return quota_; }
  // From now on this quota decides. True if it differs from the last one.
  bool follow(const Quota& quota);

  // ---- checks ----

  Decision spend(Operation operation, std::int64_t cost, Instant now);
  Decision look(const Quota& quota, std::int64_t cost, Instant now) const {
    return look_at(quota, state_, cost, now + ahead_);
  }
  // The key's state before a spend(), to undo it.
  struct Mark {
    SyncedState state;
    std::int64_t pending;
  };
  Mark mark() const { return {state_, pending_}; }
  void undo(const Mark& mark);

  // Whether the copy may answer. kNo: the store asks Redis. kLost: the key's sync has just failed.
  enum class Trust : std::uint8_t { kYes, kNo, kLost };
  enum class IsWhole : bool { kNo, kYes };  // no master of a cluster is known to be away
  // A look wants Redis's state, and a denial by an old copy may be over.
  Trust trust(Operation operation, IsWhole is_whole, Duration interval, Instant now) const;
  // Whether the key needs no sync before calm_until(): little of it is used, and less than 1 /
  // untold_part is pending.
  bool is_calm(const Decision& decision, std::int64_t untold_part, Duration interval,
               Instant now) const;
  // After at least three quarters of the time. `step` of kSteps adds to that, so that keys that
  // came together fall out of step.
  static constexpr std::uint32_t kSteps = 16;
  Instant calm_until(Duration interval, std::uint32_t step) const;
  bool is_denied() const { return is_denied_; }  // at the last check
  // Whether the last sync left so long ago.
  bool is_older_than(Duration age, Instant now) const { return now - synced_at_ >= age; }

  // Refunds units that no sync has pushed. They were never spent in Redis, so this needs no trip.
  // nullopt if the refund exceeds them. REQUIRES: cost < 0
  std::optional<Decision> take_back(std::int64_t cost, Instant now);
  // Redis is about to take units back, or to forget the key.
  void give_back(std::int64_t cost, Instant now);
  void forget();
  // Other counters admitted units that Redis may not know. This node's have `entered` of them.
  void admit(std::int64_t units, std::int64_t entered, Instant now);

  // ---- syncs ----

  bool is_out() const { return trip_ != Trip::kNone; }
  bool is_alone() const { return alone_ > 0; }  // something was admitted while Redis was away
  // Units that Redis may not have charged, and how many of them this node's counters have.
  struct Owed {
    std::int64_t units;
    std::int64_t entered;
  };
  Owed owed() const { return {pending_ + told_, entered_ + told_}; }
  // The pending units that this node's counters lack; the caller is about to enter them there.
  std::int64_t enter();
  // Forgets units that were admitted alone and no longer count. Returns how many.
  std::int64_t drop_expired(Instant now);

  void set_out(Instant now);
  // The sync leaves with the pending units, which it returns. REQUIRES: enter()
  std::int64_t leave();
  // Redis has charged these units. True if the copy is valid now.
  bool receive(const SyncedState& state, Duration ahead, Instant now);
  // Units that all nodes charged in Redis within a period, by the last two syncs. It is an average
  // if these are further apart than two periods.
  std::int64_t grown_in(Duration period) const;
  // The sync failed: nobody knows whether Redis charged it. kYes: only this key is lost.
  enum class IsThere : bool { kNo, kYes };
  void lose(IsThere is_there, Instant now);

 private:
  // The fields that every check reads come first, as much as KeyTable fetches.
  SyncedState state_{};       // at Redis's time
  Duration ahead_{0};         // Redis's clock minus ours
  std::int64_t pending_ = 0;  // units that no sync has pushed
  Instant synced_at_{};       // when the last sync left
  // kVoid: the state that comes back does not include a reset or a refund.
  enum class Trip : std::uint8_t { kNone, kOut, kVoid } trip_ = Trip::kNone;
  bool is_copy_ = false;  // Redis has sent the state at least once
  bool is_denied_ = false;
  bool is_lost_ = false;  // its last sync has failed, and Redis was there
  Quota quota_;

  std::int64_t told_ = 0;     // told units, on their way to Redis
  std::int64_t entered_ = 0;  // of the pending, units that this node's counters have
  std::int64_t alone_ = 0;    // of the pending and told, units admitted while Redis was away
  std::int64_t grown_ = 0;    // in Redis, between the last two syncs
  Instant synced_before_{};   // when the sync before the last left
  Instant lost_at_{};
};

}  // namespace weir
