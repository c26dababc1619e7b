// LeasedSlots: mode leased of slots. A core leases slots of a key from Redis (SlotShare), and gives
// them out from memory, so that streams cost few calls. A caller that acquires a slot waits for a
// call only if the core has no free slot and Redis may have one, and not past its deadline.
//
//   acquire ─> a slot on lease ─> token          release, here ─> free for the next
//        └───> errand ─> Redis ─> lease          release, elsewhere ─> Redis ─> the next errand
//
// Tokens are in the node's HoldingStore, and end with their lease. So each core of the node can
// release them. A lease that ends without being renewed takes its tokens with it.
//
// Thread rule: the core of its sender. Tested by tests/redis/leased_slots_test.cc and
// tests/e2e/lent_slots_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/holds/shared_holds.h"
#include "proto/reactor.h"
#include "store/redis/calls/redis_sender.h"
#include "store/redis/keys/key_table.h"
#include "store/redis/slots/slot_share.h"
#include "store/redis/strict/redis_holds.h"
#include "weir/holding_store.h"

namespace weir {

class LeasedSlots final : public SharedHolds, private ErrandOwner {
 public:
  static constexpr std::size_t kKeysMax = 16'384;
  static constexpr std::size_t kWaitingMax = 4096;  // acquires
  // The lowest bits of a core's number say which core of its node it is.
  static constexpr std::uint64_t kCoresMax = 1024;

  struct Place {
    std::uint64_t core = 0;  // no other core of the fleet has this number
    Duration deadline{0};    // of errands
    HoldingStore& tokens;    // the node's
    RedisHolds& redis;       // by the same sender
  };
  // All outlive this.
  LeasedSlots(const Place& place, RedisSender& sender, Reactor& reactor);

  // The key's name in the HoldingStore, for slots that a core has given out.
  static KeyHash name_on(std::uint64_t core, const KeyHash& key) {
    constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
    return {key.high ^ kOdd * (core % kCoresMax + 1), key.low};
  }

  Store& store() override { return place_.redis.store(); }
  // REQUIRES: one charge, of a limit of slots
  void reserve(Batch& batch, HoldOrder& order, Instant now) noexcept override;
  void look(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept override {
    place_.redis.look_at_lent(batch, held, now);
  }
  // Releases a slot. REQUIRES: a core has lent it
  void commit(Batch& batch, CommitOrder& order, Instant now) noexcept override;

 private:
  using PlaceNumber = std::uint32_t;
  static constexpr PlaceNumber kNobody = UINT32_MAX;

  struct Key {
    SlotShare share;
    std::int64_t limit = 0;
    Duration redis_ahead{0};  // Redis's time less ours, at the last answer; perhaps less
    HoldToken heard;          // see LendTerms
    std::uint32_t first_waiter = kNobody;
    std::uint32_t last_waiter = kNobody;
    std::uint32_t waiting = 0;
    std::uint32_t asked_for = 0;  // waiters that the errand asks for
    bool is_unhurried = false;    // its errand is a turn's, not a waiter's
  };
  struct Waiter {
    Batch* batch;  // null: the place is free
    HoldOrder* order;
    Instant deadline;    // a key's waiters are sorted by this
    PlaceNumber place;   // of its key
    std::uint32_t next;  // of its key, or of the free places
  };
  using Keys = KeyTable<Key>;

  KeyHash name_here(PlaceNumber place) const { return name_on(place_.core, keys_->key_of(place)); }
  std::int64_t held(PlaceNumber place, Instant now) {
    return place_.tokens.held(name_here(place), now).units;
  }
  PlaceNumber place_for(const Charge& charge, Instant now);
  static bool has_room(const Key& key, std::int64_t held, Instant now);
  bool take(PlaceNumber place, Batch& batch, HoldOrder& order, Instant now);
  void deny(PlaceNumber place, Batch& batch, Instant now);
  bool ask(PlaceNumber place, Instant now);
  bool wait(PlaceNumber place, Batch& batch, HoldOrder& order, Instant now);
  Waiter next_waiter(Key& key);
  void wake(PlaceNumber place, Instant now);
  void give_up(Instant now);
  void look_after(PlaceNumber place, Instant now);
  void ring(Instant now);
  void came_back(Key& key, Instant now);

  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  const Place place_;
  RedisSender& sender_;
  std::unique_ptr<Keys> keys_;  // made when the first key comes
  std::vector<Waiter> waiters_;
  std::uint32_t free_waiter_ = kNobody;
  std::int64_t errands_ = 0;   // that have left
  std::size_t unhurried_ = 0;  // unhurried errands under way
  std::unique_ptr<Alarm> turns_;
  Instant next_deadline_ = Instant::max();  // of a waiter, perhaps one that waits no more
  std::unique_ptr<Alarm> deadlines_;
};

}  // namespace weir
