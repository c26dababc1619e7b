// Syncs: the copies of keys that one core has, when each is synced, and how.
//
//   touch ─────────────> soon ──a period, or at once──> errand ─> Redis ─> the copy is new
//   spent, but calm ───> calm ──its time is over──> soon
//
// A key that owes units is noted where others find the note if this process dies (owed_units.h).
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
  // Whether checks that no copy can answer wait for Redis. Of one that is far away they fail at
  // once, and only what gives units back or resets waits.
  enum class Reach : std::uint8_t { kNear, kFar } reach = Reach::kNear;
  OwedUnits* owed = nullptr;  // outlives the store; null: what is unpushed dies with the process
  // Tells other threads since when the oldest sync waits or is out; Instant::max(): none is.
  // Outlives the store; null: nobody wants to know.
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
  // The key's place; a new key makes room for itself. kNone: there is none.
  std::uint32_t place_for(const Charge& charge);
  std::uint64_t removed() const { return removed_; }  // keys, for others

  const SyncPeaks& peaks() const { return peaks_; }

  // A check has spent of the key. Plans its sync.
  void spent(std::uint32_t place, const Decision& decision, Instant now);
  // Plans a sync of the key that does not wait for the end of its calm.
  void touch(std::uint32_t place, Instant now);
  // A sync leaves with the next errands. REQUIRES: none is out
  void set_out(std::uint32_t place, Departure::Lane lane, Instant now);
  // This node's counters are right as of each sync. Charges that came later enter them before they
  // decide.
  void enter_pending(std::uint32_t place, Instant now);
  // The quota decides from now on.
  void follow(std::uint32_t place, const Quota& quota);
  // To be called when what the key owes has changed.
  void note(std::uint32_t place);

  void owe(const Charge& charge, std::int64_t entered, Instant now);
  void catch_up(Instant now);
  bool tell_all(Instant now);

 private:
  struct Calm {
    Instant until;
    std::uint32_t place;
  };
  static constexpr std::uint32_t kNobody = Keys::kNone;

  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  bool make_room();
  void list_calm(std::uint32_t place);
  void push_calm(const Calm& calm);
  void wake_calm(Instant now);
  void list(std::uint32_t place);
  void sync_by(Instant when);
  void sync_touched(Instant now);
  void drop_expired(std::uint32_t place, Instant now);
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
  Instant waiting_since_ = Instant::max();  // the oldest of them
  SyncPeaks peaks_;
  std::vector<Calm> calm_;  // a heap, the earliest first
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
