// RedisStore: decides in a Redis, on its clock, for one core. Every node sees what any node has
// charged: mode strict.
//
//   decide ─> errand ─> RedisSender ─> on_done
//
// While a call is out, batches gather for a moment (redis_sender.h).
//
// A batch fails (kUnavailable) at its deadline, when its caller gives up, and when Redis answers
// with an error. It fails at once when there is no connection or the breaker is open. A batch that
// ran out of time may have been charged; one that failed otherwise was not.
//
// Thread rule: the core of its sender. Tested by redis_store_test.cc, and by
// tests/redis/redis_conformance_test.cc.

#pragma once

#include <cstdint>

#include "store/redis/calls/redis_sender.h"
#include "store/redis/keys/denial_memory.h"
#include "store/redis/keys/own_counters.h"
#include "weir/store.h"

namespace weir {

class RedisStore final : public Store, private ErrandOwner {
 public:
  // `sender` outlives the store. REQUIRES: when the store goes, no batch of it waits for an answer
  RedisStore(const RedisStoreOptions& options, RedisSender& sender);

  void decide(Batch& batch, Instant now) noexcept override;

  std::uint64_t remembered() const { return remembered_; }  // denials without a call

 private:
  bool pack(Errand& errand, ChargeCall& words, Instant now) override;
  ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                         Instant now) override;
  void lost(const Errand& errand, Instant now) override;

  bool answer_from_memory(Batch& batch, Instant now) noexcept;
  void remember(const Batch& answered, Instant asked_at);

  RedisSender& sender_;
  DenialMemory denials_;
  OwnCounters own_counters_;
  std::uint64_t remembered_ = 0;
};

}  // namespace weir
