// RedisHolds: holds units in Redis (script/holds.lua), for one core. It shares RedisStore's sender,
// and its batches fail like those. It remembers no denials: a commit at any node may end them.
//
// Thread rule: the core of its sender. Tested by tests/redis/redis_holds_test.cc.

#pragma once

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
  void commit(Batch& batch, CommitOrder& order, Instant now) noexcept override;

 private:
  class Decider;

  void send(Errand errand, Instant now) noexcept;
  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;
  ChargeFailure read(const Errand& errand, ChargeReplies& replies);

  RedisSender& sender_;
  OwnCounters own_counters_;
  std::unique_ptr<Store> store_;
  LostHolds lost_;
};

}  // namespace weir
