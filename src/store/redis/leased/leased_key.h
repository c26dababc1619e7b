// LeasedKey: one core's leases of a key from Redis, and how much it needs of the key.
//
// A key has two leases at most: the one that is spent from first, and its successor. Redis has
// charged the units that they hold. Of long leases (leased_store.h) Redis also wants to know the
// units that were spent, which are settled with the next errand.
//
// Demand: units wanted since the last lease came, whether leases met them or not. For kLengthMax
// also units since the lease before: right after a lease came there is nothing else to go by.
//
// Thread rule: one core. Tested by leased_key_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "store/redis/script/charge_script.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// The length of the quota's longest leases; 0: it has no leases.
Duration lease_length(const Quota& quota);
Duration long_lease_length(const Quota& quota);
// Units that come back one by one are gathered for so long, so that each trip brings several.
Duration trickle_length(const Quota& quota);

class LeasedKey {
 public:
  static constexpr Duration kLengthMax = std::chrono::seconds(1);
  static constexpr Duration kLongMax = std::chrono::seconds(60);
  // A lease is asked for so long ahead of need, at least.
  static constexpr Duration kAheadMin = std::chrono::milliseconds(30);
  static constexpr std::int64_t kUnitsMax = 1'000'000;  // of a lease
  static constexpr std::size_t kLeases = 2;

  // Redis's grant, and when the request for it left, on this node's clock.
  struct Grant {
    Lease lease;
    Instant asked_at;
    Instant time_at_redis;
  };
  // The units that go back, and other news for Redis.
  struct Returned {
    std::int64_t units = 0;
    std::int64_t settled = 0;
    Instant end_at_redis;
  };

  const Quota& quota() const { return quota_; }
  // REQUIRES: held() == 0
  void set_terms(const Quota& quota);
  // Whether the quota may spend the units that are held, as after a switch.
  bool follow(const Quota& quota) {
    if (limit_ != quota.limit() || capacity_ != quota.capacity()) return false;
    if (switch_number_ != quota.switch_number()) set_terms(quota);
    return true;
  }

  std::int64_t held() const { return leases_[0].units + leases_[1].units; }
  // Drops leases that have ended, and returns their units, which are lost. To be called before any
  // of the functions below.
  std::int64_t drop_expired(Instant now);
  // REQUIRES: so many units are held
  Decision spend(std::int64_t cost, Instant now);
  // Spent units belong to their lease again. False, and no change, if fewer were spent of the lease
  // that is spent from. REQUIRES: units >= 0
  bool take_back(std::int64_t units, Instant now);
  // Few units are held, or for a short time only.
  bool runs_low(Instant now) const { return held() < ask_at_units_ || now >= ask_at_; }

  // Redis has answered.
  void note_state(const Decision& decision, Instant now);
  // Returns when the rest of the lease is to go back. REQUIRES: units were granted
  Instant receive(const Grant& grant, Instant now);

  // Gives back the rest of a lease, unless the lease has ended.
  Returned give_back(std::size_t lease, Instant now);
  // Whether it should go back by now: a short lease, or a long one that the key needs no more.
  bool is_to_go_back(std::size_t lease, Instant now) const;
  // Redis has forgotten the key: all held units are void. Returns how many.
  std::int64_t forget();
  // Moves the settled units into the terms of the next errand, once.
  void settle(LeaseTerms& terms);

  // Units left in Redis, as far as this core knows.
  std::int64_t left(Instant now) const { return now < reset_at_ ? left_in_redis_ : capacity_; }
  // Demand at the rate since one of the last two leases came. It is not many times the units spent
  // since then, as that time may be short.
  std::int64_t demand_within(Duration length, Instant now) const;
  // Demand while a lease is on its way.
  std::int64_t demand_soon(Instant now) const;
  // Whether demand is enough for short leases.
  bool is_busy(Instant now) const;
  // Counts demand that no lease met.
  void count_demand(std::int64_t cost, Instant now);

 private:
  struct Held {
    std::int64_t units = 0;
    Instant end;  // on this node's clock
  };
  struct Origin {
    Instant end_at_redis;  // on Redis's clock
    Instant return_at;     // on this node's clock
    // Units that may be left: those granted; of a long lease, those that Redis takes for unspent.
    std::int64_t units_told = 0;
    bool is_long = false;
  };

  // Demand during the lease before, while the last one is too young to measure.
  std::int64_t earlier_demand(Instant now) const;
  // Demand since the last lease came.
  std::int64_t demand() const { return demand_counted_ + held_then_ - held(); }
  void measure_demand(Instant now);
  void put(std::size_t at, const Held& lease, const Origin& origin);
  void settle(std::size_t lease);
  void drop(std::size_t lease);

  // The fields that every check reads come first, as much as KeyTable fetches.
  std::array<Held, kLeases> leases_;
  Instant ask_at_ = Instant::max();  // the core asks for another lease from then on,
  std::int64_t ask_at_units_ = 0;    // or when so much is left
  std::int64_t left_in_redis_ = 0;   // as Redis said last
  Instant reset_at_;                 // all would be left then,
  Instant more_at_;                  // and some more would be then
  Instant used_at_;
  std::int64_t limit_ = 0;  // of the quota, as is the next
  std::int64_t capacity_ = 0;
  std::uint32_t switch_number_ = 0;

  Quota quota_;  // of all held units
  std::array<Origin, kLeases> origins_;
  // Since the last lease came: demand that leases have not met, and the units held then.
  Instant demand_since_;
  std::int64_t held_then_ = 0;
  std::int64_t demand_counted_ = 0;
  // From when the lease before came until the last one came.
  Instant earlier_since_;
  std::int64_t earlier_demand_ = 0;
  // Spent units of long leases that are used up, and the earliest end of these in Redis.
  std::int64_t settled_ = 0;
  Instant settled_until_;
};

}  // namespace weir
