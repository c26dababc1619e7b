// LeasedKey: what one core holds of a key by leases from Redis, and how much it needs.
//
// A key has two leases at most: the one that is spent from first, and its successor. Redis
// has charged what they hold; of long ones (leased_store.h) it also wants to know what has
// been spent, which is settled with the next errand.
//
// Demand is what was spent since the last lease came, or would have been. For kLengthMax it is also
// what was spent since the lease before, which is all there is to go by right after one has come.
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

// How long leases of the quota last at most; 0: leases are not for it.
Duration lease_length(const Quota& quota);
Duration long_lease_length(const Quota& quota);
// Units that come back one by one are gathered for so long, so that trips bring handfuls.
Duration trickle_length(const Quota& quota);

class LeasedKey {
 public:
  static constexpr Duration kLengthMax = std::chrono::seconds(1);
  static constexpr Duration kLongMax = std::chrono::seconds(60);
  // Before that much time's units are spent another lease can be there.
  static constexpr Duration kAheadMin = std::chrono::milliseconds(30);
  static constexpr std::int64_t kUnitsMax = 1'000'000;  // of a lease
  static constexpr std::size_t kLeases = 2;

  // What Redis granted, and when the request left, here.
  struct Grant {
    Lease lease;
    Instant asked_at;
    Instant time_at_redis;
  };
  // What goes back, and what else Redis learns.
  struct Returned {
    std::int64_t units = 0;
    std::int64_t settled = 0;
    Instant end_at_redis;
  };

  const Quota& quota() const { return quota_; }
  // REQUIRES: held() == 0
  void set_terms(const Quota& quota);
  // Whether what is held may be spent under the quota, as after a switch.
  bool follow(const Quota& quota) {
    if (limit_ != quota.limit() || capacity_ != quota.capacity()) return false;
    if (switch_number_ != quota.switch_number()) set_terms(quota);
    return true;
  }

  std::int64_t held() const { return leases_[0].units + leases_[1].units; }
  // Units that are lost now, as their leases have ended. To be called before any of what
  // follows.
  std::int64_t drop_expired(Instant now);
  // REQUIRES: so much is held
  Decision spend(std::int64_t cost, Instant now);
  // Units that had been spent of the lease that is out belong to it again. False, and nothing is
  // changed, if that is not so much. REQUIRES: units >= 0
  bool take_back(std::int64_t units, Instant now);
  // Little is held, or for a short time only.
  bool runs_low(Instant now) const { return held() < ask_at_units_ || now >= ask_at_; }

  // Redis has answered.
  void note_state(const Decision& decision, Instant now);
  // Returns when what is left of it is to go back. REQUIRES: units were granted
  Instant receive(const Grant& grant, Instant now);

  // Gives back the rest of a lease, unless the lease has ended.
  Returned give_back(std::size_t lease, Instant now);
  // Whether it should, by now: a short lease, or a long one that the key needs no more.
  bool is_to_go_back(std::size_t lease, Instant now) const;
  // Redis has forgotten the key: all that is held is void. Returns how much that is.
  std::int64_t forget();
  // Moves what is settled into the terms of the next errand, once.
  void settle(LeaseTerms& terms);

  // In Redis, as far as this core knows.
  std::int64_t left(Instant now) const { return now < reset_at_ ? left_in_redis_ : capacity_; }
  // At the rate since one of the last two leases came; not many times what was spent since then,
  // which may be a short time.
  std::int64_t demand_within(Duration length, Instant now) const;
  // While a lease is on its way.
  std::int64_t demand_soon(Instant now) const;
  // Enough for short leases.
  bool is_busy(Instant now) const;
  // Demand that was not met by a lease.
  void count_demand(std::int64_t cost, Instant now);

 private:
  struct Held {
    std::int64_t units = 0;
    Instant end;  // here
  };
  struct Origin {
    Instant end_at_redis;  // on its clock
    Instant return_at;     // here
    // So much may be left of it: what was granted, of a long one what Redis takes for unspent.
    std::int64_t units_told = 0;
    bool is_long = false;
  };

  // During the lease before, while the last one has lasted too short to measure.
  std::int64_t earlier_demand(Instant now) const;
  // Since the last lease came.
  std::int64_t demand() const { return demand_counted_ + held_then_ - held(); }
  void measure_demand(Instant now);
  void put(std::size_t at, const Held& lease, const Origin& origin);
  void settle(std::size_t lease);
  void drop(std::size_t lease);

  // The fields that every check reads come first, as much as KeyTable fetches.
  std::array<Held, kLeases> leases_;
  Instant ask_at_ = Instant::max();  // from then on the core asks for another,
  std::int64_t ask_at_units_ = 0;    // or when so much is left
  std::int64_t left_in_redis_ = 0;   // as it said last
  Instant reset_at_;                 // then all would be left,
  Instant more_at_;                  // and then some more
  Instant used_at_;
  std::int64_t limit_ = 0;  // of the quota, as is the next
  std::int64_t capacity_ = 0;
  std::uint32_t switch_number_ = 0;

  Quota quota_;  // under which all of it was leased
  std::array<Origin, kLeases> origins_;
  // Since the last lease came: what leases have not met, and what was held then.
  Instant demand_since_;
  std::int64_t held_then_ = 0;
  std::int64_t demand_counted_ = 0;
  // From when the one before came until then.
  Instant earlier_since_;
  std::int64_t earlier_demand_ = 0;
  // What was spent of long leases that are used up, and the first of their ends in Redis.
  std::int64_t settled_ = 0;
  Instant settled_until_;
};

}  // namespace weir
