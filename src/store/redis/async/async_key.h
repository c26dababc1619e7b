// AsyncKey: one core's copy of a key in Redis, and what of it Redis does not know yet.
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
// `now` is this node's time; the copy is decided on at Redis's, which every sync measures.
//
// Thread rule: one core. Tested by async_key_test.cc.

#pragma once

#include <cstdint>
#include <optional>

#include "rules/promise.h"
#include "store/redis/async/synced_state.h"
#include "weir/store.h"

namespace weir {

// check:allow(methods): each step of the life of a copy
class AsyncKey {
 public:
  // A trip that takes longer is an outage.
  static constexpr Duration kPatience = std::chrono::milliseconds(500);
  // After a failed sync the key fails its checks at once for so long.
  static constexpr Duration kLostFor = 2 * kPatience;
  static constexpr int kCalmIntervals = 300;
  // SharingFacts::kUntoldPart, of a calm key.
  static constexpr std::int64_t kUntoldPart = SharingFacts::kUntoldPart;
  static_assert(kUntoldPart > 2 * kCalmIntervals);

  // A new key is taken for untouched.
  AsyncKey(const Quota& quota = {}, Duration ahead = {}) : ahead_(ahead), quota_(quota) {}

  const Quota& quota() const { return quota_; }
  // From now on this quota decides. True if it is another.
  bool follow(const Quota& quota);

  // ---- checks ----

  Decision spend(Operation operation, std::int64_t cost, Instant now);
  Decision look(const Quota& quota, std::int64_t cost, Instant now) const {
    return look_at(quota, state_, cost, now + ahead_);
  }
  // What spend() has changed, to be undone.
  struct Mark {
    SyncedState state;
    std::int64_t pending;
  };
  Mark mark() const { return {state_, pending_}; }
  void undo(const Mark& mark);

  // Whether the copy may answer. kNo: Redis is to be asked. kLost: it has just failed.
  enum class Trust : std::uint8_t { kYes, kNo, kLost };
  enum class IsWhole : bool { kNo, kYes };  // no master of a cluster is known to be away
  // A look wants what Redis knows, and a denial by an old copy may be over.
  Trust trust(Operation operation, IsWhole is_whole, Duration interval, Instant now) const;
  // Little of it is used, and less than 1 / untold_part is pending: it need not be synced before
  // calm_until().
  bool is_calm(const Decision& decision, std::int64_t untold_part, Duration interval,
               Instant now) const;
  // At least three quarters of the time; `step` of kSteps says how much more, so that keys that
  // came together fall out of step.
  static constexpr std::uint32_t kSteps = 16;
  Instant calm_until(Duration interval, std::uint32_t step) const;
  bool is_denied() const { return is_denied_; }  // at the last check
  // The last sync left longer ago.
  bool is_older_than(Duration age, Instant now) const { return now - synced_at_ >= age; }

  // Units that no sync has pushed were never spent in Redis: their refund needs no trip. Nothing if
  // the refund exceeds them. REQUIRES: cost < 0
  std::optional<Decision> take_back(std::int64_t cost, Instant now);
  // Redis is about to take units back; to forget the key.
  void give_back(std::int64_t cost, Instant now);
  void forget();
  // Others have admitted units of which Redis may not know. This node's counters have `entered`.
  void admit(std::int64_t units, std::int64_t entered, Instant now);

  // ---- syncs ----

  bool is_out() const { return trip_ != Trip::kNone; }
  bool is_alone() const { return alone_ > 0; }  // something was admitted while Redis was away
  // What Redis may not have charged, and of it what this node's counters have.
  struct Owed {
    std::int64_t units;
    std::int64_t entered;
  };
  Owed owed() const { return {pending_ + told_, entered_ + told_}; }
  // The pending units that this node's counters do not have, and which are about to enter them.
  std::int64_t enter();
  // Forgets what was admitted alone and counts no more. Returns the units.
  std::int64_t drop_expired(Instant now);

  void set_out(Instant now);
  // The sync leaves with so many units. REQUIRES: enter()
  std::int64_t leave();
  // Redis has charged them. True if the state is a copy now.
  bool receive(const SyncedState& state, Duration ahead, Instant now);
  // Units that Redis charged within a period, by anybody, as the last two syncs show. It is an
  // average if they are further apart than two periods.
  std::int64_t grown_in(Duration period) const;
  // Nobody knows whether it has. While Redis `is_there`, the key alone is lost.
  enum class IsThere : bool { kNo, kYes };
  void lose(IsThere is_there, Instant now);

 private:
  // The fields that every check reads come first, as much as KeyTable fetches.
  SyncedState state_{};       // at Redis's time
  Duration ahead_{0};         // Redis's clock, of ours
  std::int64_t pending_ = 0;  // units that no sync has pushed
  Instant synced_at_{};       // when the last sync left
  // kVoid: the state that comes back does not include a reset or a refund.
  enum class Trip : std::uint8_t { kNone, kOut, kVoid } trip_ = Trip::kNone;
  bool is_copy_ = false;  // Redis has sent the state at least once
  bool is_denied_ = false;
  bool is_lost_ = false;  // its last sync has failed, and Redis was there
  Quota quota_;

  std::int64_t told_ = 0;     // units that are on their way
  std::int64_t entered_ = 0;  // of the pending, units that this node's counters have
  std::int64_t alone_ = 0;    // of the pending and told, units admitted while Redis was away
  std::int64_t grown_ = 0;    // in Redis, between the last two syncs
  Instant synced_before_{};   // when the sync before the last left
  Instant lost_at_{};
};

}  // namespace weir
