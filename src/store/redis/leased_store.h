// LeasedStore: decides in memory by units that were leased from Redis ahead of need, for
// one core. Never over the limit: Redis has charged a unit before it is spent here. Mode
// leased.
//
//   check ──> units held? ──yes──> spent, answered at once
//                 │ no
//                 ├──> a lease is asked for; those that come meanwhile wait for it, too.
//                 │    What it does not cover goes the other way.
//                 └──> if leases are not worth it: Redis decides, as in mode strict
//
// A lease is sized by demand: what the key spends within the lease's length, at the rate
// since the last two came. Redis grants a share of what remains at most, or what is spent
// until the next can be there, so that leases shrink to single units as the quota runs out.
// Keys that are in use ask before they need.
// A core that dies loses its leases to their own expiry. A key that Redis denies is denied
// here for 1/64 of its window, 250 ms at most: units that come back meanwhile are not lost.
// Busy ones ask shortly before that is over, so that nobody waits for it.
//
// Two lengths, as most keys are seldom asked for, and trips for those would be most trips:
//   long   for a window (logs: an eighth of one), LeasedKey::kLongMax at most. Of little
//          demand, for which a small part of what remains is enough: what other nodes cannot
//          spend meanwhile is a small part, too. If the key is idle after three quarters,
//          what is left goes back; but not so little that its expiry takes nothing from
//          anybody.
//   short  for 1/8 of a window, LeasedKey::kLengthMax at most; as Redis charges logs and
//          buckets as of a lease's end, for those 1/16 of the time that their capacity takes
//          to come back. What is left after three quarters goes back. If that is less than
//          kLengthMin, leases are not worth their trips.
// A lease lasts from when it was asked for, on this node's clock, so that it ends here before
// it ends in Redis, whatever the two clocks say.
//
// The strict store decides, after what is held of the keys was given back:
//   resets (what is held is void, and not given back)
//   giving back what is not of a lease that is out. Never more than has been spent; but what
//   other nodes hold counts as spent
//   looks that what is held does not answer
//   keys that have little left and little demand; costs over capacity / share, which no
//   lease covers
//   exponential_backoff, and quotas too short for leases
//   a batch with any of those, as a whole
//
// Fails (kUnavailable) if Redis is away or does not answer in time, and is needed. What is
// held may be spent to its end all the same.
//
// Thread rule: the core of its client and reactor. Tested by tests/redis/leased_fleet_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "proto/reactor.h"
#include "store/redis/denial_memory.h"
#include "store/redis/key_table.h"
#include "store/redis/leased_key.h"
#include "store/redis/own_counters.h"
#include "store/redis/redis_trips.h"
#include "weir/store.h"

namespace weir {

struct LeasedStoreOptions {
  RedisStoreOptions redis;
  // Of what remains of a key, a lease is 1 / share() at most: twice the number of stores
  // that lease, so that all of them find something.
  std::function<std::int64_t()> share;
  std::size_t keys = 131'072;  // that have leases; others are decided strictly
};

struct LeasedStoreCounts {
  std::uint64_t from_memory = 0;  // batches
  std::uint64_t waited = 0;
  std::uint64_t passed_on = 0;  // to the strict store
  std::uint64_t leases = 0;     // asked for
  std::int64_t granted = 0;     // units
  std::int64_t returned = 0;    // given back; some may have been too late
  std::int64_t expired = 0;     // lost unspent
};

class LeasedStore final : public Store, private TripOwner {
 public:
  static constexpr Duration kLengthMin = std::chrono::milliseconds(50);
  static constexpr std::size_t kWaitingMax = 4096;  // batches

  // All outlive the store. `strict` decides in the same Redis.
  LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisClient& client,
              Reactor& reactor, RedisStoreListener& listener);
  // Batches that wait fail. What is called then must not use the store.
  ~LeasedStore() override;

  void decide(Batch& batch, Instant now) noexcept override;

  // Answers at once what memory knows of every charge, else fails and changes nothing.
  Store& at_hand() { return at_hand_; }

  const LeasedStoreCounts& counts() const { return counts_; }
  const RedisTrips& trips() const { return trips_; }

  // Gives back at once what is held, of so many keys that Redis answers in time. True when
  // nothing is held any more, or there is nobody to give it to; else it is to be called again.
  bool give_back_all(Instant now);

 private:
  // What every check reads comes first (leased_key.h).
  struct Key {
    LeasedKey leased;
    std::int64_t units_awaited = 0;  // by checks, of the lease that is about to be asked for
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

  // TripOwner
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
  void fail(Batch& batch) noexcept;

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
  LeasedStoreCounts counts_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> waiting_free_;
  std::vector<std::uint32_t> waiters_;  // the next of its key; one for each charge that waits
  std::vector<Due> due_;                // a heap, the earliest first
  std::unique_ptr<Alarm> return_alarm_;
};

}  // namespace weir
