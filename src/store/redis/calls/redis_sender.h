// RedisSender: calls the script for one core, in all modes. Errands of all modes wait in one queue
// and share calls; the reply answers them in the order of the call.
//
//   add(errand) ─> queue ──end of the round──> calls (one EVALSHA each) ─> Redis ─> its owner
//
// Errands gather while a call is out: until it is back, until they are worth a call, or until the
// first of them must leave. An idle sender adds no wait, and a busy one sends large calls, which
// cost Redis much less. In a cluster a call goes to one slot, and errands do not gather.
//
// An errand for which a check waits is lost at its deadline, and no check hears Redis's later
// answer. Syncs wait longer. They go behind the others, and take half of the calls at most: so a
// master that does not answer them holds up no check.
//
// Redis is away if there is no connection, or if too many calls in a row have failed
// (RedisTroubles). While Redis is away, the sender takes no errand and loses those that wait.
//
// Thread rule: one core. A call allocates when it is made, never after. Tested by
// redis_sender_test.cc, src/store/redis/strict/redis_store_test.cc and
// tests/e2e/faults_test.py.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "proto/reactor.h"
#include "store/redis/calls/redis_troubles.h"
#include "store/redis/client/script_call.h"
#include "store/redis/script/charge_script.h"
#include "weir/store.h"

namespace weir {

// The clock that decides: Redis's, or in tests the caller's.
enum class TimeSource : std::uint8_t { kRedis, kCaller };

// Keys of one call may be anywhere, or must be in one slot.
enum class KeySpread : std::uint8_t { kOneServer, kCluster };

struct RedisStoreOptions {
  std::string prefix = "weir:";                       // of Weir's keys; no {
  Duration deadline = std::chrono::milliseconds(20);  // of errands that checks wait for
  KeySpread spread = KeySpread::kOneServer;
  TimeSource time = TimeSource::kRedis;
  std::size_t denied_keys = 4096;              // remembered
  std::uint64_t seed = 1;                      // of the breaker's jitter
  Store* own_counters = nullptr;               // this node's, which stay warm; null: none
  std::function<std::int64_t()> live_nodes{};  // among which the node has a share; empty: 1
};

// For stores that begin to decide a batch. Answers an empty one.
inline bool has_charges(Batch& batch) noexcept {
  WEIR_ASSERT(batch.charges.size() == batch.decisions.size());
  WEIR_ASSERT(batch.charges.size() <= Batch::kChargesMax);
  batch.error = StoreError::kNone;
  if (!batch.charges.empty()) return true;
  batch.on_done(batch);
  return false;
}

struct CallCounts {
  std::uint64_t calls = 0;    // that decide batches
  std::uint64_t charges = 0;  // of these batches
  std::uint64_t reloads = 0;  // of the script
  FailureCounts failures{};   // of errands
};

class ErrandOwner;

// One thing to be done in Redis: a batch to be decided, or an operation on one key.
struct Errand {
  ErrandOwner* owner = nullptr;
  Batch* batch = nullptr;  // to be decided
  // RedisHolds's next to the batch, by the operation.
  union {
    HoldOrder* hold = nullptr;
    CommitOrder* commit;
    HoldingStore::Held* held;
  };
  Instant since;  // when the batch came
  // Until when a check waits. The owner may set it when the errand leaves.
  Instant deadline = Instant::max();
  std::uint32_t number = 0;  // the owner's for it, as a key's
  std::uint32_t turn = 0;    // set by RedisSender
  std::uint16_t slot = 0;
  bool is_lost = false;
  ScriptOperation operation = ScriptOperation::kSync;
  std::uint8_t charges = 1;  // at most

  // No check waits for a sync: it may take as long as its call.
  bool is_patient() const { return operation == ScriptOperation::kSync; }
};

// When an errand leaves: at the end of a loop's round from `due` on, if the queue is worth a call,
// and at `latest` in any case. It leaves earlier with others that leave.
struct Departure {
  enum class Lane : std::uint8_t { kPrompt, kPatient } lane = Lane::kPrompt;
  Instant due{};
  Instant latest{};
};

class ErrandOwner {
 public:
  // The errand is about to leave: the owner adds its charges to the words, in the order of the
  // replies. False if there is nothing to do any more: then neither answered() nor lost() follows.
  virtual bool pack(Errand& errand, ChargeCall& words, Instant now) = 0;
  // Redis has done it. The owner reads its part of the replies, even if the errand is lost.
  virtual ChargeFailure answered(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                                 Instant now) = 0;
  // Redis has not done it, or may not have. Also follows an answered() that has read a failure.
  virtual void lost(const Errand& errand, Instant now) = 0;

 protected:
  ~ErrandOwner() = default;
};

class RedisSender {
 public:
  static constexpr std::size_t kCallsMax = 128;  // that are out at a time
  // Prompt errands that wait; a flood is better refused than late.
  static constexpr std::size_t kWaitingMax = 4096;
  static constexpr std::size_t kChargesWorthACall = 64;
  // The longest that a batch waits for others. A Redis near by answers sooner; for one far away
  // this is a small part of the trip.
  static constexpr Duration kGatherMax = std::chrono::milliseconds(1);

  // All outlive this.
  RedisSender(const RedisStoreOptions& options, RedisClient& client, Reactor& reactor,
              RedisListener& listener);
  // Errands that wait are dropped: no owner hears of them.
  ~RedisSender();
  RedisSender(const RedisSender&) = delete;
  RedisSender& operator=(const RedisSender&) = delete;

  // `first`: a charge of the errand; all its keys are in one slot. False, and counted, if Redis is
  // away or too many errands wait; the sender does not call the owner then.
  [[nodiscard]] bool add(Errand errand, const Charge& first, const Departure& departure,
                         Instant now) noexcept;
  // add() for an errand with a batch. A batch with little time does not spend most of it in the
  // queue.
  [[nodiscard]] bool add_batch(Errand errand, Instant now) noexcept {
    constexpr int kPart = 4;
    errand.since = now;
    errand.deadline = std::min(now + options_.deadline, errand.batch->give_up_at);
    errand.charges = static_cast<std::uint8_t>(errand.batch->charges.size());
    const Instant latest = now + std::min(kGatherMax, (errand.deadline - now) / kPart);
    return add(errand, errand.batch->charges.front(), {.latest = latest}, now);
  }
  // A check waits for an errand that was added before: the queue leaves at the end of the round.
  void hurry();
  // Sends what waits, as far as calls are free. If a call fails at once, its owner learns of it
  // before this returns.
  void flush(Instant now) { send_queue(Worth::kYes, now); }
  // Loses all errands that wait or are out. Neither users nor owners may use this afterwards.
  void give_up();

  bool is_away() const { return is_cut() || !breaker().closed(); }
  // In a cluster: no master is known to be away.
  bool is_whole() const { return client_.state().phase == LinkState::Phase::kConnected; }
  const Breaker& breaker() const { return troubles_.breaker(); }
  const CallCounts& counts() const { return counts_; }

 private:
  struct Call;
  using Lane = Departure::Lane;
  enum class Worth : std::uint8_t { kIfMany, kYes };
  struct Failure {
    RedisFailure kind;
    std::string_view detail;
  };

  bool is_cluster() const { return options_.spread == KeySpread::kCluster; }
  // In a cluster the masters that are there go on.
  bool is_cut() const { return !is_cluster() && !is_whole(); }
  Failure why_away() const;
  void send_queue(Worth worth, Instant now);
  Call* send_lane(Lane of, Call* call, Worth worth, Instant now);
  Call* idle_call(Lane lane);
  void send(Call& call, Instant now);
  void probe(Instant now);
  void read(Call& call, const resp::Reply& reply, Instant now);
  void fail(Call& call, RedisFailure failure, std::string_view detail, Instant now);
  void land(Call& call);
  void lose(Errand& errand, RedisFailure failure, std::string_view detail, Instant now);
  void lose_waiting(const Failure& failure, Instant due_by, Instant now);
  void ring_by(Instant deadline);
  void lose_late(Instant now);

  const RedisStoreOptions options_;
  RedisClient& client_;
  CallCounts counts_;
  RedisTroubles troubles_;
  std::array<std::vector<Errand>, 2> lanes_;
  std::size_t charges_waiting_ = 0;
  std::vector<std::unique_ptr<Call>> calls_;  // all that there are, out or not
  std::vector<Call*> idle_;
  bool is_sending_ = false;
  // Why errands wait on: for others, or for a call to land.
  enum class Rest : std::uint8_t { kNone, kGathers, kBlocked } rest_ = Rest::kNone;
  Instant due_ = Instant::max();            // when the first errand that waits may leave,
  Instant latest_ = Instant::max();         // and when it must
  Instant next_deadline_ = Instant::max();  // of any errand or call; maybe of one that has landed
  std::unique_ptr<Alarm> departure_;
  std::unique_ptr<Alarm> deadlines_;
};

}  // namespace weir
