// Leases: one core's leases of keys from Redis, and how they come and go.
//
//   ask ─> errand ─> Redis ─> held units ─> spent, given back in time, or lost at their end
//
// An errand's request or return is settled when the errand leaves (LeasedKey). Until then checks
// may still spend, and more may wait. A key whose terms have changed keeps its units under the old
// terms until they have gone back.
//
// Thread rule: the core of its sender. Tested by tests/redis/leased_fleet_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "observe/shared_store.h"
#include "proto/reactor.h"
#include "store/redis/calls/redis_sender.h"
#include "store/redis/keys/denial_memory.h"
#include "store/redis/keys/key_table.h"
#include "store/redis/keys/own_counters.h"
#include "store/redis/leased/leased_key.h"
#include "weir/store.h"

namespace weir {

struct LeasedStoreOptions {
  RedisStoreOptions redis;
  // A lease is at most 1 / share() of what remains of its key. share() is twice the number of
  // stores that lease, so that all of them find some.
  std::function<std::int64_t()> share;
  std::size_t keys = 131'072;  // that have leases; the strict store decides others
};

// A key of one core. The fields that every check reads come first (leased_key.h).
struct LeasingKey {
  LeasedKey leased;
  std::int64_t units_awaited = 0;  // by checks, from the next lease
  std::uint32_t first_waiter = UINT32_MAX;
  std::uint32_t last_waiter = UINT32_MAX;
  std::uint32_t asked_under = 0;  // the number of the switch that the last request was under
  enum class Asked : std::uint8_t { kNo, kYes, kInVain } asked = Asked::kNo;
  // An errand gives back all units, or those that are due.
  enum class Returns : std::uint8_t { kNothing, kWhatIsDue, kAll } returns = Returns::kNothing;
};

class Leases final : private ErrandOwner {
 public:
  using Keys = KeyTable<LeasingKey>;
  // The lease for which checks wait has come, or does not come.
  using Wake = std::function<void(std::uint32_t number, StoreError error, Instant now)>;

  // All outlive this.
  Leases(const LeasedStoreOptions& options, RedisSender& sender, Reactor& reactor,
         DenialMemory& denials, FleetCounts& counts, Wake wake);

  Keys& keys() { return keys_; }
  std::int64_t share() const;

  // The key's number, with leases under the charge's quota. kNone: there is no room, or the key
  // holds or asks for units under another quota.
  std::uint32_t number_for(const Charge& charge, Instant now);
  void drop_expired(LeasingKey& key, Instant now);
  // Whether leases suit the key, which needs so many units now.
  bool wants_leases(const LeasedKey& key, std::int64_t units, Instant now) const;

  // Checks wait for a lease. False if the core cannot ask.
  bool ask_at_once(std::uint32_t number, Instant now);
  // The key runs low: asks for its next lease.
  void ask_ahead(std::uint32_t number, Instant now);
  // The key is denied, and somebody wants it: asks before the denial ends.
  void ask_before_end(std::uint32_t number, const Charge& charge, Instant now);

  // All units of the key go back, before any errand that is sent from now on.
  void give_back(std::uint32_t number, Instant now);
  // Does the same for as many keys as Redis answers in time. True when the core holds no units, or
  // Redis is away; else the caller calls again.
  bool give_back_all(Instant now);
  // Redis forgets the key, and its leases.
  void forget(const Charge& charge);

 private:
  struct Due {
    Instant at;
    std::uint32_t number;
  };
  static constexpr std::uint32_t kNobody = Keys::kNone;

  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  bool make_room(Instant now);
  std::int64_t units_of_long(const LeasedKey& key, Instant now) const;
  bool add(std::uint32_t number, ScriptOperation operation, const Departure& departure,
           Instant now);
  bool ask(std::uint32_t number, Instant due, Instant now);
  void pack_lease(std::uint32_t number, ChargeCall& words, Instant now);
  std::uint8_t pack_returns(std::uint32_t number, ChargeCall& words, Instant now);
  void receive(std::uint32_t number, const LeasedKey::Grant& grant, Instant now);
  void ring(Instant now);

  const LeasedStoreOptions options_;
  RedisSender& sender_;
  DenialMemory& denials_;
  FleetCounts& counts_;
  const Wake wake_;
  Keys keys_;
  OwnCounters own_counters_;
  std::size_t errands_ = 0;  // that wait or are out
  std::vector<Due> due_;     // a heap, the earliest first
  std::unique_ptr<Alarm> return_alarm_;
};

}  // namespace weir
