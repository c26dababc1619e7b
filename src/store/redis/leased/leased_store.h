// LeasedStore: decides in memory by units that it leases from Redis ahead of need, for one core.
// Mode leased. It never exceeds the limit: Redis charges a unit before a check spends it here.
// leased_store.cc opens with a timeline.
//
//   check ──> units held? ──yes──> spent, answered at once
//                 │ no
//                 ├──> the store asks for a lease; checks that come meanwhile wait for it, too
//                 └──> a lease does not help: Redis decides, as in mode strict
//
// Demand sizes a lease: the units that the key spends within the lease's length, at the rate since
// the last two leases came. Redis grants at most a share of what remains, or the units that the key
// spends until the next lease can arrive. So leases shrink to single units as the quota runs out. A
// key in use asks for its next lease before it needs it.
// When a core dies, its leases expire. When Redis denies a key, this core denies it for 1/64 of its
// window, 250 ms at most: units that come back meanwhile are not lost. A busy key asks shortly
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
// The strict store decides the following, after this store has given back its leases of the keys:
//   resets (which void leases; nothing goes back)
//   charges that count whether or not they fit, where this core holds too few units
//   refunds of units that are in no lease. A refund never exceeds the spent units; units that
//   other nodes hold count as spent
//   looks that memory cannot answer
//   keys that have little left and little demand; costs over capacity / share, which no
//   lease covers
//   exponential_backoff, and quotas too short for leases
//   a batch with any of these, as a whole
//
// A check that needs Redis fails (kUnavailable) if Redis is away or does not answer in time. The
// core may still spend its leases until their ends.
//
// Thread rule: the core of its sender. Tested by tests/redis/leased_fleet_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "observe/shared_store.h"
#include "store/redis/keys/denial_memory.h"
#include "store/redis/leased/leases.h"
#include "weir/store.h"

namespace weir {

class LeasedStore final : public Store {
 public:
  static constexpr Duration kLengthMin = std::chrono::milliseconds(50);
  static constexpr std::size_t kWaitingMax = 4096;  // batches

  // All outlive the store. `strict` decides in the same Redis, by the same sender. REQUIRES: when
  // the store goes, no batch waits (RedisSender::give_up)
  LeasedStore(const LeasedStoreOptions& options, Store& strict, RedisSender& sender,
              Reactor& reactor);

  void decide(Batch& batch, Instant now) noexcept override;

  // Answers at once if memory can answer every charge; else fails and changes nothing.
  Store& at_hand() { return at_hand_; }

  const FleetCounts& counts() const { return counts_; }
  // Leases::give_back_all()
  bool give_back_all(Instant now) { return leases_.give_back_all(now); }

 private:
  struct WaitingBatch {
    Batch* batch = nullptr;  // null: free
    Instant since;
    std::uint8_t leases_awaited = 0;
    StoreError error = StoreError::kNone;
  };
  // How memory can answer a charge.
  enum class Known : std::uint8_t { kNothing, kUnits, kDenial };
  using Numbers = std::array<std::uint32_t, Batch::kChargesMax>;
  static constexpr std::uint32_t kNobody = Leases::Keys::kNone;

  class AtHand final : public Store {
   public:
    explicit AtHand(LeasedStore& leased) : leased_(leased) {}
    void decide(Batch& batch, Instant now) noexcept override;

   private:
    LeasedStore& leased_;
  };

  Numbers find(std::span<const Charge> charges);
  bool answer_at_once(Batch& batch, Instant now);
  bool answer_from_memory(Batch& batch, const Numbers& numbers, Instant now);
  Known known_of(const Batch& batch, const Numbers& numbers, std::size_t index, Instant now);
  bool is_worth_a_lease(const LeasedKey& key, const Charge& charge, Instant now);
  Decision spend(std::uint32_t number, std::int64_t cost, Instant now);
  bool take_back(Batch& batch, Instant now);
  bool take_back_one(std::uint32_t number, const Charge& charge, Instant now);
  void wait_for_leases(Batch& batch, Instant now);
  void wait(Batch& batch, const Numbers& numbers, std::span<const std::size_t> lacking,
            Instant now);
  void pass_on(Batch& batch, Instant since, Instant now);
  void add_waiter(std::uint32_t number, std::uint32_t waiter);
  void wake(std::uint32_t number, StoreError error, Instant now);
  void resolve(std::uint32_t waiting, Instant now);

  Store& strict_;
  RedisSender& sender_;
  FleetCounts counts_{};
  DenialMemory denials_;
  Leases leases_;
  AtHand at_hand_{*this};
  std::vector<WaitingBatch> waiting_;
  std::vector<std::uint32_t> waiting_free_;
  std::vector<std::uint32_t> waiters_;  // the next of its key; one for each charge that waits
};

}  // namespace weir
