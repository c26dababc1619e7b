// Syncs: one core's copies of keys, and when and how each of them is synced.
//
//   touch ─────────────> soon ──a period, or at once──> errand ─> Redis ─> the copy is new
//   spent, but calm ───> calm ──its time is over──> soon
//
// A key that owes units has a note that other processes find if this one dies (owed_units.h).
//
// Thread rule: the core of its sender. Tested by tests/redis/async_syncs_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "observe/shared_store.h"
#include "proto/reactor.h"
#include "store/redis/async/async_key.h"
#include "store/redis/async/owed_units.h"
#include "store/redis/async/sync_peaks.h"
#include "store/redis/calls/redis_sender.h"
#include "store/redis/keys/key_table.h"
#include "store/redis/keys/own_counters.h"
#include "weir/store.h"

namespace weir {

struct AsyncStoreOptions {
  RedisStoreOptions redis;
  Duration interval = std::chrono::milliseconds(100);                     // > 0
  std::function<std::int64_t()> stores = [] { return std::int64_t{1}; };  // of the fleet
  std::size_t keys = 131'072;                                             // that have copies
  // Whether checks that no copy can answer wait for Redis. kFar: such checks fail at once; only
  // refunds and resets wait.
  enum class Reach : std::uint8_t { kNear, kFar } reach = Reach::kNear;
  OwedUnits* owed = nullptr;  // outlives the store; null: what is unpushed dies with the process
  // Tells other threads since when the oldest sync waits or is out; Instant::max(): none is.
  // Outlives the store; null: not wanted.
  std::atomic<Instant>* waiting_since = nullptr;
};

struct SyncingKey {
  enum class Listed : std::uint8_t { kNo, kCalm, kSoon } listed = Listed::kNo;
  bool is_in_calm = false;  // has an entry in the heap of calm keys
  AsyncKey copy;
  Instant calm_until{};
  OwedUnits::Note* note = nullptr;  // while it owes units, and there is room for one
};

// check:allow(methods): lists of keys share when each is due, and what it owes
class Syncs final : private ErrandOwner {
 public:
  using Keys = KeyTable<SyncingKey>;

  // All outlive this.
  Syncs(const AsyncStoreOptions& options, RedisSender& sender, Reactor& reactor,
        FleetCounts& counts);

  Keys& keys() { return keys_; }
  // The key's number; a new key makes room for itself. kNone: there is no room.
  std::uint32_t number_for(const Charge& charge);
  std::uint64_t removed() const { return removed_; }  // keys, to make room for others

  const SyncPeaks& peaks() const { return peaks_; }

  // A check has spent units of the key. Plans its sync.
  void spent(std::uint32_t number, const Decision& decision, Instant now);
  // Plans a sync of the key that does not wait for the end of its calm.
  void touch(std::uint32_t number, Instant now);
  // A sync leaves with the next errands. REQUIRES: none is out
  void set_out(std::uint32_t number, Departure::Lane lane, Instant now);
  // Enters the key's pending units into this node's counters. Each sync does so; later charges do
  // it before these counters decide.
  void enter_pending(std::uint32_t number, Instant now);
  // From now on the quota decides.
  void follow(std::uint32_t number, const Quota& quota);
  // To be called when what the key owes has changed.
  void note(std::uint32_t number);

  void owe(const Charge& charge, std::int64_t entered, Instant now);
  void catch_up(Instant now);
  bool tell_all(Instant now);

 private:
  struct Calm {
    Instant until;
    std::uint32_t number;
  };
  static constexpr std::uint32_t kNobody = Keys::kNone;

  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  bool make_room();
  void list_calm(std::uint32_t number);
  void push_calm(const Calm& calm);
  void wake_calm(Instant now);
  void list(std::uint32_t number);
  void sync_by(Instant when);
  void sync_touched(Instant now);
  void drop_expired(std::uint32_t number, Instant now);
  void forget_expired(Instant now);
  void wait_since(Instant since);
  void ended(Instant rest_since);

  const std::function<std::int64_t()> stores_;
  OwedUnits* const owed_;
  std::atomic<Instant>* const told_waiting_;
  RedisSender& sender_;
  FleetCounts& counts_;
  Keys keys_;
  OwnCounters own_counters_;
  const Duration period_;                             // of syncs
  std::int64_t untold_part_ = AsyncKey::kUntoldPart;  // of one store
  Duration ahead_{0};                                 // Redis's clock, as of the last sync
  std::uint64_t removed_ = 0;
  std::size_t errands_ = 0;                 // that wait or are out
  Instant waiting_since_ = Instant::max();  // since when the oldest of them does
  SyncPeaks peaks_;
  std::vector<Calm> calm_;  // a heap, the earliest first
  std::vector<std::uint32_t> touched_;
  std::size_t swept_ = 0;               // the index in touched_ where forget_expired() stopped
  std::vector<std::uint32_t> syncing_;  // keys of touched_ that are being taken up
  Instant last_sync_{};
  Instant counted_from_{};  // when `syncs_` began to count
  int syncs_ = 0;
  Instant next_sync_ = Instant::max();
  std::unique_ptr<Alarm> sync_alarm_;
};

}  // namespace weir
