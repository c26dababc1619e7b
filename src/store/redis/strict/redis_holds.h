// RedisHolds: holds units in Redis (script/holds.lua), for one core. It shares RedisStore's sender,
// and its batches fail like those. It remembers no denials: a commit at any node may end them.
//
// Thread rule: the core of its sender. Tested by tests/redis/redis_holds_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/holds/shared_holds.h"
#include "proto/reactor.h"
#include "store/redis/calls/redis_sender.h"
#include "store/redis/keys/own_counters.h"
#include "store/redis/strict/lost_holds.h"
#include "weir/store.h"

namespace weir {

class RedisHolds final : public SharedHolds, private ErrandOwner {
 public:
  // Both outlive this. REQUIRES: as for RedisStore
  RedisHolds(const RedisStoreOptions& options, RedisSender& sender, Reactor& reactor);

  Store& store() override { return *store_; }
  void reserve(Batch& batch, HoldOrder& order, Instant now) noexcept override;
  void look(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept override;
  // Looks at slots that nodes have on lease. REQUIRES: one charge
  void look_at_lent(Batch& batch, std::span<HoldingStore::Held> held, Instant now) noexcept;
  // If Redis does not answer an end that charges nothing, such as the release of a slot, asks again
  // later (LostHolds). The batch fails all the same.
  void commit(Batch& batch, CommitOrder& order, Instant now) noexcept override;
  // Redis has answered all ends that charge nothing, or their holds are over.
  bool has_ended_all() const { return ends_out_ == 0 && lost_.is_empty(); }

 private:
  class Decider;

  void send(Errand errand, Instant now) noexcept;
  void ask_again(const Errand& errand, Instant since) noexcept;
  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;
  ChargeFailure read(const Errand& errand, ChargeReplies& replies);

  RedisSender& sender_;
  OwnCounters own_counters_;
  std::unique_ptr<Store> store_;
  LostHolds lost_;
  std::size_t ends_out_ = 0;  // that charge nothing
  Duration redis_ahead_{0};   // Redis's time less ours, at the last answer
};

}  // namespace weir
