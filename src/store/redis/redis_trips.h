// RedisTrips: what is wanted of single keys in Redis, in calls of the script that many
// share, and what came of it. For the stores that decide in memory: nobody waits here but
// who asked for it above.
//
//   add(errand) ─> queue ──end of a round of the loop──> trips (one call each) ─> TripOwner
//
// It knows whether Redis is away: there is no connection, or too many trips in a row have
// failed. While it is, errands fail at once, and a charge of its own is tried now and then
// until one succeeds.
//
// A call is sent again only if Redis did not know the script, which charges nothing.
//
// Thread rule: one core. Tested by redis_trips_test.cc and
// tests/redis/leased_fleet_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "proto/reactor.h"
#include "store/redis/charge_script.h"
#include "store/redis/redis_client.h"
#include "store/redis/redis_failure.h"
#include "store/redis/redis_store.h"
#include "store/redis/redis_troubles.h"
#include "weir/store.h"

namespace weir {

// One thing to be done with one key.
struct Errand {
  ScriptOperation operation = ScriptOperation::kSync;  // kLease, kReturn or kSync
  std::uint32_t place = 0;                             // whatever its owner wants to know
  KeyHash key;
  std::uint64_t tag = 0;
  Quota quota;
  std::int64_t units = 0;
  // kLease; of a kReturn what is settled, and until when all of it is believed.
  LeaseTerms terms;
  std::uint32_t turn = 0;  // among those of its slot; RedisTrips sets it

  Charge charge() const { return {.key = key, .quota = &quota, .cost = units, .tag = tag}; }
};

class TripOwner {
 public:
  // The errand is about to leave: its units and terms can be set.
  virtual void leaving(Errand& errand, Instant now) = 0;
  // Redis has done it. Reads its part of the replies.
  virtual ChargeFailure done(const Errand& errand, ChargeReplies& replies, Instant asked_at,
                             Instant now) = 0;
  // It has not, or nobody knows; after done(), if what that read was a failure.
  virtual void lost(const Errand& errand, Instant now) = 0;

 protected:
  ~TripOwner() = default;
};

struct RedisTripsOptions {
  RedisStoreOptions redis;
  Duration deadline;  // of a trip
  int failures_max;   // in a row, and Redis is away
};

struct RedisTripsCounts {
  std::uint64_t calls = 0;
  std::uint64_t errands = 0;
  std::uint64_t reloads = 0;  // of the script
  FailureCounts failures{};   // of errands
};

class RedisTrips {
 public:
  static constexpr std::size_t kTripsMax = 64;  // at a time

  // All outlive this.
  RedisTrips(const RedisTripsOptions& options, RedisClient& client, Reactor& reactor,
             RedisStoreListener& listener, TripOwner& owner);
  // What is under way is told to nobody.
  ~RedisTrips();

  bool is_away() const;
  // Of a cluster, no master is known to be away.
  bool is_whole() const { return client_.state().phase == LinkState::Phase::kConnected; }
  // Whether nothing is under way.
  bool is_idle() const { return out_ == 0 && queue_.empty(); }

  // Leaves at the end of the loop's round, or of the first from `due` on, or with others that
  // leave earlier: what nobody waits for is better gathered.
  // False if there is no memory for it: its owner hears nothing of it.
  [[nodiscard]] bool add(const Errand& errand, Instant due = Instant{}) noexcept;
  // Somebody waits for one that was added before.
  void hurry();
  // What has not left yet will give nothing back.
  void cancel_returns(const KeyHash& key, std::uint64_t tag);
  // Sends what waits; what fails at once is told before this returns.
  void flush(Instant now);

  const Breaker& breaker() const { return troubles_.breaker(); }
  const RedisTripsCounts& counts() const { return counts_; }

 private:
  class Trip;

  void leave_by(Instant due);
  Trip* idle_trip();
  std::size_t fill(Trip& trip, std::size_t first, Instant now);
  void sort_by_slot();
  void pack(Trip& trip, const Errand& errand);
  void send(Trip& trip, Instant now);
  void read(Trip& trip, const resp::Reply& reply, Instant now);
  void load_script(Trip& trip, Instant now);
  void fail(Trip& trip, RedisFailure failure, std::string_view detail, Instant now);
  void lose(const Errand& errand, RedisFailure failure, std::string_view detail, Instant now);
  void lose_queue(RedisFailure failure, Instant now);
  void land(Trip& trip);
  void probe(Instant now);
  std::uint16_t slot_for(const Errand& errand) const;

  const RedisTripsOptions options_;
  RedisClient& client_;
  TripOwner& owner_;
  RedisTripsCounts counts_;
  RedisTroubles troubles_;
  std::vector<Errand> queue_;
  Instant due_ = Instant::max();              // when the queue leaves
  bool is_blocked_ = false;                   // all trips are out
  std::vector<std::unique_ptr<Trip>> trips_;  // all that there are, out or not
  std::size_t out_ = 0;
  enum class Flush : std::uint8_t { kNo, kUnderWay } flush_ = Flush::kNo;
  std::unique_ptr<Alarm> round_end_;
};

}  // namespace weir
