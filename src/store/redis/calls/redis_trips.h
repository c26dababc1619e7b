// RedisTrips: what the modes that decide in memory want of single keys in Redis. Errands share
// calls of the script, and no check waits for one unless its store makes it wait.
//
//   add(errand) ─> queue ──when the first is due──> calls (script_calls.h) ─> TripOwner
//
// Redis is away if there is no connection, or too many calls in a row have failed. While it is
// away, errands fail at once.
//
// Thread rule: one core. Tested by redis_trips_test.cc and
// tests/redis/leased_fleet_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "proto/reactor.h"
#include "store/redis/calls/script_calls.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_failure.h"
#include "store/redis/script/charge_script.h"
#include "weir/store.h"

namespace weir {

// One thing to be done with one key.
struct Errand {
  ScriptOperation operation = ScriptOperation::kSync;  // kLease, kReturn or kSync
  std::uint16_t slot = 0;                              // RedisTrips sets it
  std::uint32_t turn = 0;                              // ScriptCalls sets it
  std::uint32_t place = 0;                             // whatever its owner wants to know
  KeyHash key;
  std::uint64_t tag = 0;
  Quota quota;
  std::int64_t units = 0;
  // kLease: its terms. kReturn: what is settled, and until when all of it is believed.
  LeaseTerms terms;

  Charge charge() const { return {.key = key, .quota = &quota, .cost = units, .tag = tag}; }
};

class TripOwner {
 public:
  // The errand is about to leave: its units and terms can be set.
  virtual void leaving(Errand& errand, Instant now) = 0;
  // Redis has done it. Reads its part of the replies.
  virtual ChargeFailure done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                             Instant now) = 0;
  // Redis has not done it, or may not have; after done(), if done() read a failure.
  virtual void lost(const Errand& errand, Instant now) = 0;

 protected:
  ~TripOwner() = default;
};

class RedisTrips {
 public:
  // All outlive this. Redis is away after `failures_max` failures in a row.
  RedisTrips(const RedisStoreOptions& options, int failures_max, RedisClient& client,
             Reactor& reactor, RedisListener& listener, TripOwner& owner);

  bool is_away() const { return calls_.is_cut() || !breaker().closed(); }
  // In a cluster: no master is known to be away.
  bool is_whole() const { return calls_.link().phase == LinkState::Phase::kConnected; }
  bool is_idle() const { return calls_.is_idle(); }

  // The errand leaves at the end of the loop's round, or of the first from `due` on, or with
  // others that leave earlier: errands for which no check waits gather.
  // False if there is no memory for it; its owner is not called then.
  [[nodiscard]] bool add(Errand errand, Instant due = Instant{}) noexcept;
  // A check waits for an errand that was added before: the queue leaves at once.
  void hurry();
  // Returns of the key that have not left yet give nothing back.
  void cancel_returns(const KeyHash& key, std::uint64_t tag);
  // Sends what waits. What fails at once, the owner learns before this returns.
  void flush(Instant now);

  // Redis has answered another store.
  void believe(Instant now) { calls_.believe(now); }

  const Breaker& breaker() const { return calls_.breaker(); }
  const CallCounts& counts() const { return calls_.counts(); }

 private:
  using Calls = ScriptCalls<Errand, RedisTrips>;
  friend Calls;

  // For ScriptCalls.
  bool pack(Errand& errand, Calls::Call& call, Instant now);
  void answered(const Errand& errand, ChargeReplies& replies, const Calls::Call& call, Instant now);
  void lost(const Errand& errand, RedisFailure failure, std::string_view detail, Instant now);
  void landed(Instant now);

  void leave_by(Instant due);
  void lose_queue(RedisFailure failure, Instant now);

  const TimeSource time_;
  TripOwner& owner_;
  Calls calls_;
  Instant due_ = Instant::max();  // when the queue leaves
  enum class Flush : std::uint8_t { kNo, kUnderWay } flush_ = Flush::kNo;
  std::unique_ptr<Alarm> round_end_;
};

}  // namespace weir
