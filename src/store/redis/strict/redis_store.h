// RedisStore: decides in a Redis, on its clock, for one core. What one node has charged
// every other node sees: mode strict.
//
//   decide ─> queue ──end of the loop's round──> calls (script_calls.h) ─> on_done
//
// Batches that come in one round of the event loop share calls. While a call is out, batches
// gather until it is back, until they are worth a call, or for about kGatherMax: an idle store
// adds no wait, and a busy one sends large calls, which cost Redis much less.
//
// A batch fails (kUnavailable) at its deadline or when its caller gives up, at once when there is
// no connection or the breaker is open, and when Redis answers with an error. A batch that ran
// out of time may have been charged; one that failed otherwise was not.
//
// Thread rule: the core of its client and reactor. Tested by redis_store_test.cc, and by
// tests/redis/redis_conformance_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "proto/reactor.h"
#include "store/redis/calls/redis_troubles.h"
#include "store/redis/calls/script_calls.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_failure.h"
#include "store/redis/keys/denial_memory.h"
#include "store/redis/keys/own_counters.h"
#include "store/redis/script/charge_script.h"
#include "weir/store.h"

namespace weir {

class RedisStore final : public Store {
 public:
  static constexpr std::size_t kWaitingMax = 4096;  // batches
  // A Redis near by answers sooner; for one far away it is a small part of the trip.
  static constexpr Duration kGatherMax = std::chrono::milliseconds(1);
  static constexpr std::size_t kChargesWorthACall = 64;

  // All outlive the store.
  RedisStore(const RedisStoreOptions& options, RedisClient& client, Reactor& reactor,
             RedisListener& listener);
  // Batches that wait are dropped: their on_done is not called.
  ~RedisStore() override;

  // Fails all that waits. Callbacks must not use the store, nor may anything after this.
  void give_up();

  void decide(Batch& batch, Instant now) noexcept override;

  const Breaker& breaker() const { return calls_.breaker(); }
  const CallCounts& counts() const { return calls_.counts(); }
  std::uint64_t remembered() const { return remembered_; }  // denials, without a call

 private:
  struct Waiting {
    Batch* batch;  // null: it has been answered
    Instant since;
    Instant deadline;
    std::uint16_t slot;
    std::uint8_t charges;
    std::uint32_t turn;  // ScriptCalls sets it
  };
  using Calls = ScriptCalls<Waiting, RedisStore>;
  friend Calls;

  // For ScriptCalls.
  bool pack(const Waiting& waiting, Calls::Call& call, Instant now);
  void answered(const Waiting& waiting, ChargeReplies& replies, const Calls::Call& call,
                Instant now);
  void lost(const Waiting& waiting, RedisFailure failure, std::string_view detail, Instant now);
  void landed(Instant now);

  bool answer_from_memory(Batch& batch, Instant now) noexcept;
  void note_denials(const Batch& batch, Instant asked_at);
  void forget_denials(std::span<const Charge> charges, Operation operation);
  void forget_debts(const Batch& answered);
  void flush(Instant now);
  bool is_worth_a_call() const;
  Instant gather_end();
  void fail(Batch& batch, RedisFailure failure, std::string_view detail, Instant now) noexcept;
  void fail_waiting(RedisFailure failure, Instant due_by, Instant now);
  void ring(Instant now);
  void set_alarm();

  const RedisStoreOptions options_;
  Calls calls_;
  DenialMemory denials_;
  OwnCounters own_counters_;
  std::uint64_t remembered_ = 0;
  std::size_t charges_waiting_ = 0;
  std::unique_ptr<Alarm> round_end_;
  std::unique_ptr<Alarm> deadlines_;
};

}  // namespace weir
