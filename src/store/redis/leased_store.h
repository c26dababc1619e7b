// LeasedStore: decides in memory by units that were leased from Redis ahead of need, for
// one core. Never over the limit: Redis has charged a unit before it is spent here. Mode
// leased.
//
//   check ──> units held? ──yes──> spent, answered at once
//                 │ no
//                 ├──> a busy key: a lease is asked for; those that come meanwhile wait for
//                 │    it, too. What it does not cover goes the other way.
//                 └──> else: Redis decides, as in mode strict
//
// A lease is sized by demand: what the key spent within a lease's length, lately. Redis
// grants a share of what remains at most, so that leases shrink to single units as the
// quota runs out. Busy keys ask before they need; what is not needed goes back when three
// quarters of its time are over. A core that dies loses its leases to their own expiry.
//
// How long a lease lasts: from when it was asked for, on this node's clock, so that it ends
// here before it ends in Redis, whatever the two clocks say. kLengthMax at most, and 1/8 of
// a window; as Redis charges logs and buckets as of a lease's end, for those 1/16 of the
// time that their capacity takes to come back. If that is less than kLengthMin, leases are
// not worth their trips.
//
// The strict store decides, after what is held of the keys was given back:
//   resets (what is held is void, and not given back)
//   giving back. Never more than has been spent; but what other nodes hold counts as spent
//   looks that what is held does not answer
//   keys that are not busy; costs over capacity / share, which no lease covers
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
#include "store/redis/redis_trips.h"
#include "weir/store.h"

namespace weir {

struct LeasedStoreOptions {
  RedisStoreOptions redis;
  // Of what remains of a key, a lease is 1 / share() at most: twice the number of stores
  // that lease, so that all of them find something.
  std::function<std::int64_t()> share;
  std::size_t keys = 65'536;  // that have leases; others are decided strictly
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
  static constexpr Duration kLengthMax = std::chrono::seconds(1);
  static constexpr Duration kLengthMin = std::chrono::milliseconds(50);
  static constexpr std::int64_t kUnitsMax = 1'000'000;  // of a lease
  static constexpr std::size_t kWaitingMax = 4096;      // batches

  // All outlive the store. `strict` decides in the same Redis.
  LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisClient& client,
              Reactor& reactor, RedisStoreListener& listener);
  // Batches that wait fail. What is called then must not use the store.
  ~LeasedStore() override;

  void decide(Batch& batch, Instant now) noexcept override;

  const LeasedStoreCounts& counts() const { return counts_; }
  const RedisTrips& trips() const { return trips_; }

 private:
  struct Held {
    std::int64_t units = 0;
    Instant end;            // here
    Instant end_at_redis;   // on its clock
    Instant given_back_at;  // here, if it is not spent by then
  };
  struct Key {
    Quota quota;                     // under which all of it was leased
    std::array<Held, 2> leases;      // the one that is spent from first, and its successor
    std::int64_t left_in_redis = 0;  // as it said last
    Instant reset_at;
    Instant span_start;  // demand is what is spent in a span
    std::int64_t spent_in_span = 0;
    std::int64_t spent_before = 0;   // in the span before
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

  // TripOwner
  void leaving(Errand& errand, Instant now) override;
  ChargeFailure done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                     Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  Places find(std::span<const Charge> charges);
  bool answer_from_memory(Batch& batch, const Places& places, Instant now);
  Known known_of(const Batch& batch, const Places& places, std::size_t index, Instant now);
  void count_demand(Key& key, std::int64_t cost, Instant now);
  static std::int64_t demand_of(const Key& key);
  bool is_worth_a_lease(std::uint32_t place, const Charge& charge, Instant now);
  Decision spend(std::uint32_t place, std::int64_t cost, Instant now);
  std::int64_t share() const;
  void wait_for_leases(Batch& batch, Instant now);
  void wait(Batch& batch, const Places& places, std::span<const std::size_t> lacking, Instant now);
  void pass_on(Batch& batch, Instant since, Instant now);
  void fail(Batch& batch) noexcept;

  bool find_place(const Charge& charge, Instant now);
  bool make_room(Instant now);
  void ask(std::uint32_t place);
  void ask_ahead(std::uint32_t place, Instant now);
  void receive(const Errand& errand, const Held& lease, Instant now);
  void add_waiter(std::uint32_t place, std::uint32_t waiter);
  void wake(std::uint32_t place, StoreError error, Instant now);
  void resolve(std::uint32_t waiting, Instant now);

  static Held joined(const Held& one, const Held& other);
  void drop_expired(Key& key, Instant now);
  bool give_back(std::uint32_t place, Held& lease, Instant now);
  bool give_back_all(std::uint32_t place, Instant now);
  void forget(const Charge& charge);
  void ring(Instant now);

  const LeasedStoreOptions options_;
  Store& strict_;
  RedisTrips trips_;
  KeyTable<Key> keys_;
  DenialMemory denials_;
  LeasedStoreCounts counts_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> waiting_free_;
  std::vector<std::uint32_t> waiters_;  // the next of its key; one for each charge that waits
  std::vector<Due> due_;                // a heap, the earliest first
  std::unique_ptr<Alarm> return_alarm_;
};

}  // namespace weir
