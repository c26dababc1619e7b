// LeasedStore: decides in memory by units that it leases from Redis ahead of need, for one core.
// Mode leased. It never exceeds the limit: Redis charges a unit before a check spends it here.
// leased_store.cc opens with a timeline.
//
//   check ──> units held? ──yes──> spent, answered at once
//                 │ no
//                 ├──> the store asks for a lease; checks that come meanwhile wait for it, too
//                 └──> a lease does not help: Redis decides, as in mode strict
//
// Demand sizes a lease: what the key spends within the lease's length, at the rate since the last
// two leases came. Redis grants a share of what remains at most, or what the key spends until the
// next lease can arrive. So leases shrink to single units as the quota runs out. A key in use asks
// for its next lease before it needs it.
// When a core dies, its leases expire. When Redis denies a key, this core denies it for 1/64 of
// its window, 250 ms at most: units that come back meanwhile are not lost. A busy key asks shortly
// before that ends, so that no check waits.
//
// Most keys are seldom used, and their trips would be most trips. So a lease has one of two
// lengths:
//   long   a window (for logs an eighth of one), LeasedKey::kLongMax at most. For little demand,
//          which a small part of what remains covers: other nodes miss a small part, too. If the
//          key is idle after three quarters, the rest goes back, unless it is so little that its
//          expiry takes nothing from others.
//   short  1/8 of a window, LeasedKey::kLengthMax at most. Redis charges logs and buckets as of
//          the lease's end, so for those it is 1/16 of the time in which their capacity comes
//          back. After three quarters the rest goes back. A length below kLengthMin is not worth
//          a trip: the store leases nothing.
// A lease starts when the store asks for it, on this node's clock. So it ends here before it ends
// in Redis, whatever the two clocks say.
//
// The strict store decides the following, after this store has given back what it holds of the
// keys:
//   resets (which void what is held; nothing goes back)
//   charges that count whether or not they fit, where this core holds too few units
//   refunds of units that are in no lease. A refund never exceeds what was spent; but what
//   other nodes hold counts as spent
//   looks that memory cannot answer
//   keys that have little left and little demand; costs over capacity / share, which no
//   lease covers
//   exponential_backoff, and quotas too short for leases
//   a batch with any of those, as a whole
//
// A check that needs Redis fails (kUnavailable) if Redis is away or does not answer in time. What
// the core holds it may spend to its end all the same.
//
// Thread rule: the core of its client and reactor. Tested by tests/redis/leased_fleet_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "observe/fleet_counts.h"
#include "proto/reactor.h"
#include "store/redis/calls/redis_trips.h"
#include "store/redis/keys/denial_memory.h"
#include "store/redis/keys/key_table.h"
#include "store/redis/keys/own_counters.h"
#include "store/redis/leased/leased_key.h"
#include "weir/store.h"

namespace weir {

struct LeasedStoreOptions {
  RedisStoreOptions redis;
  // A lease is 1 / share() of what remains of its key at most: twice the number of stores that
  // lease, so that all of them find something.
  std::function<std::int64_t()> share;
  std::size_t keys = 131'072;  // that have leases; the strict store decides others
};

class LeasedStore final : public Store, private TripOwner {
 public:
  static constexpr Duration kLengthMin = std::chrono::milliseconds(50);
  static constexpr std::size_t kWaitingMax = 4096;  // batches

  // All outlive the store. `strict` decides in the same Redis.
  LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisClient& client,
              Reactor& reactor, RedisListener& listener);
  // Batches that wait fail. Their callbacks must not use the store.
  ~LeasedStore() override;

  void decide(Batch& batch, Instant now) noexcept override;

  // Answers at once what memory knows of every charge, else fails and changes nothing.
  Store& at_hand() { return at_hand_; }

  const FleetCounts& counts() const { return counts_; }
  const RedisTrips& trips() const { return trips_; }

  // Gives back at once what the core holds of as many keys as Redis answers in time. True when it
  // holds nothing any more, or Redis is away; else the caller calls again.
  bool give_back_all(Instant now);

 private:
  // What every check reads comes first (leased_key.h).
  struct Key {
    LeasedKey leased;
    std::int64_t units_awaited = 0;  // by checks, from the next lease
    std::uint32_t first_waiter = kNobody;
    std::uint32_t last_waiter = kNobody;
    enum class Asked : std::uint8_t { kNo, kYes, kInVain } asked = Asked::kNo;
  };
  struct Waiting {
    Batch* batch = nullptr;  // null: free
    Instant since;
    std::uint8_t leases_awaited = 0;
    StoreError error = StoreError::kNone;
  };
  struct Due {
    Instant at;
    std::uint32_t place;
  };
  // What memory knows of a charge.
  enum class Known : std::uint8_t { kNothing, kUnits, kDenial };
  using Places = std::array<std::uint32_t, Batch::kChargesMax>;
  static constexpr std::uint32_t kNobody = KeyTable<Key>::kNone;

  class AtHand final : public Store {
   public:
    explicit AtHand(LeasedStore& leased) : leased_(leased) {}
    void decide(Batch& batch, Instant now) noexcept override;

   private:
    LeasedStore& leased_;
  };

  // For RedisTrips.
  void leaving(Errand& errand, Instant now) override;
  ChargeFailure done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                     Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  static bool is_for_leases(const Batch& batch);
  Places find(std::span<const Charge> charges);
  bool answer_at_once(Batch& batch, Instant now);
  bool answer_from_memory(Batch& batch, const Places& places, Instant now);
  Known known_of(const Batch& batch, const Places& places, std::size_t index, Instant now);
  std::int64_t units_of_long(const LeasedKey& key, Instant now) const;
  bool wants_leases(const LeasedKey& key, std::int64_t units, Instant now) const;
  bool is_worth_a_lease(const LeasedKey& key, const Charge& charge, Instant now);
  Decision spend(std::uint32_t place, std::int64_t cost, Instant now);
  std::int64_t share() const;
  bool take_back(Batch& batch, Instant now);
  bool take_back_one(std::uint32_t place, const Charge& charge, Instant now);
  void wait_for_leases(Batch& batch, Instant now);
  void wait(Batch& batch, const Places& places, std::span<const std::size_t> lacking, Instant now);
  void pass_on(Batch& batch, Instant since, Instant now);

  bool find_place(const Charge& charge, Instant now);
  bool make_room(Instant now);
  bool ask(std::uint32_t place, Instant due);  // false if there is no memory to
  void ask_ahead(std::uint32_t place, Instant now);
  void ask_before_end(std::uint32_t place, const Charge& charge, Instant now);
  void receive(const Errand& errand, const LeasedKey::Grant& grant, Instant now);
  void add_waiter(std::uint32_t place, std::uint32_t waiter);
  void wake(std::uint32_t place, StoreError error, Instant now);
  void resolve(std::uint32_t waiting, Instant now);

  void drop_expired(Key& key, Instant now);
  bool give_back(std::uint32_t place, std::size_t lease, Instant now);
  bool give_back_all(std::uint32_t place, Instant now);
  void forget(const Charge& charge);
  void ring(Instant now);

  const LeasedStoreOptions options_;
  Store& strict_;
  RedisTrips trips_;
  AtHand at_hand_{*this};
  KeyTable<Key> keys_;
  DenialMemory denials_;
  OwnCounters own_counters_;
  FleetCounts counts_{};
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> waiting_free_;
  std::vector<std::uint32_t> waiters_;  // the next of its key; one for each charge that waits
  std::vector<Due> due_;                // a heap, the earliest first
  std::unique_ptr<Alarm> return_alarm_;
};

}  // namespace weir
