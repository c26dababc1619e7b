// RedisStore: decides in a Redis, on its clock, for one core. What one node has charged
// every other node sees: mode strict.
//
//   decide ─> waiting ──end of the loop's round──> flights (one EVALSHA each) ─> on_done
//
// Batches that come in one round of the event loop share calls. While a call is out, what
// comes gathers until that is back, until it is worth a call, or for about kGatherMax: an
// idle store adds no wait, a busy one asks in large calls, which are much cheaper for Redis.
//
// A batch fails (kUnavailable) at its deadline or when it is to be given up, at once when
// there is no connection or the breaker is open, and when Redis answers with an error. What a
// failed batch has charged is unknown if it ran out of time, else nothing. A call is sent
// again only if the script was not there, which charges nothing.
//
// Thread rule: the core of its client and reactor. Tested by redis_store_test.cc, and by
// tests/redis/redis_conformance_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/reactor.h"
#include "store/redis/charge_script.h"
#include "store/redis/denial_memory.h"
#include "store/redis/own_counters.h"
#include "store/redis/redis_client.h"
#include "store/redis/redis_failure.h"
#include "store/redis/redis_troubles.h"
#include "weir/store.h"

namespace weir {

// Whose time decides: Redis's, or in tests the caller's.
enum class TimeSource : std::uint8_t { kRedis, kCaller };

// Keys of one call may be anywhere, or must be in one slot.
enum class KeySpread : std::uint8_t { kOneServer, kCluster };

struct RedisStoreOptions {
  std::string prefix = "weir:";  // of our keys; no {
  Duration deadline = std::chrono::milliseconds(20);
  KeySpread spread = KeySpread::kOneServer;
  TimeSource time = TimeSource::kRedis;
  std::size_t denied_keys = 4096;  // remembered
  std::uint64_t seed = 1;          // of the breaker's jitter
  Store* own_counters = nullptr;   // this node's, which stay warm; null: none
};

struct RedisStoreCounts {
  std::uint64_t calls = 0;
  std::uint64_t charges = 0;     // in calls
  std::uint64_t remembered = 0;  // charges that were denied without asking
  std::uint64_t reloads = 0;     // of the script
  FailureCounts failures{};      // of batches
};

class RedisStore final : public Store {
 public:
  static constexpr std::size_t kWaitingMax = 4096;  // batches
  static constexpr std::size_t kFlightsMax = 64;    // calls
  // A Redis near by answers sooner; for one far away it is a small part of the trip.
  static constexpr Duration kGatherMax = std::chrono::milliseconds(1);
  static constexpr std::size_t kChargesWorthACall = 64;

  // All outlive the store.
  RedisStore(const RedisStoreOptions& options, RedisClient& client, Reactor& reactor,
             RedisStoreListener& listener);
  // Batches that wait are dropped: their on_done is not called.
  ~RedisStore() override;

  // Fails all that waits. What is called then must not use the store, nor anybody after it.
  void give_up();

  void decide(Batch& batch, Instant now) noexcept override;

  const Breaker& breaker() const { return troubles_.breaker(); }
  const RedisStoreCounts& counts() const { return counts_; }

 private:
  class Flight;

  struct Waiting {
    Batch* batch;  // null: it has been answered
    Instant since;
    Instant deadline;
    std::uint16_t slot;
    std::uint16_t place;  // among those that wait, when they were last sorted
    std::uint8_t charges;
  };

  bool answer_from_memory(Batch& batch, Instant now) noexcept;
  void forget_denials(std::span<const Charge> charges, Operation operation);

  void flush(Instant now);
  void sort_by_slot();
  bool is_worth_a_call() const;
  Instant gather_end() const;
  Flight* free_flight();
  std::size_t fill(Flight& flight, std::size_t first);
  void send(Flight& flight, Instant now);
  void landed(Flight& flight);

  void read(Flight& flight, const resp::Reply& reply, Instant now);
  void load_script(Flight& flight, Instant now);
  void answer(const Waiting& waiting, ChargeReplies& replies, Instant now);
  void fail(Flight& flight, RedisFailure failure, std::string_view detail, Instant now);
  void fail(Batch& batch, RedisFailure failure, std::string_view detail, Instant now) noexcept;
  void fail_waiting(RedisFailure failure, Instant due_by, Instant now);

  void ring(Instant now);
  void set_alarm();
  void probe(Instant now);

  const RedisStoreOptions options_;
  RedisClient& client_;
  RedisStoreCounts counts_;
  RedisTroubles troubles_;
  DenialMemory denials_;
  OwnCounters own_counters_;
  std::vector<Waiting> waiting_;
  std::size_t charges_waiting_ = 0;
  std::vector<std::unique_ptr<Flight>> flights_;  // all that there are, in use or not
  std::size_t flying_ = 0;
  std::unique_ptr<Alarm> round_end_;
  std::unique_ptr<Alarm> deadlines_;
};

}  // namespace weir
