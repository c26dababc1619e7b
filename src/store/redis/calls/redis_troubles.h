// RedisTroubles: what goes wrong with a core's calls of a Redis: how often, what of it is news, and
// whether Redis is worth a call.
//
// Calls that fail open a breaker. While it is open, the sender sends a probe, a charge of a key of
// its own, now and then until Redis answers one, and refuses all else as kNotAsked. The sender
// reports what came of calls and probes; the listener learns what is news.
//
// Thread rule: one core. Tested by redis_troubles_test.cc.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "proto/reactor.h"
#include "store/redis/calls/breaker.h"
#include "store/redis/client/redis_client.h"
#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

using FailureCounts = std::array<std::uint64_t, kRedisFailures>;  // by kind

class RedisTroubles {
 public:
  static constexpr Duration kNamedAgain = std::chrono::minutes(1);

  // `probe` is called when it is time to send take_probe(). Failures are added to `counts`,
  // which outlive this, as do reactor and listener.
  RedisTroubles(const Breaker& breaker, Reactor& reactor, RedisListener& listener,
                FailureCounts& counts, std::function<void(Instant now)> probe);
  RedisTroubles(const RedisTroubles&) = delete;
  RedisTroubles& operator=(const RedisTroubles&) = delete;

  const Breaker& breaker() const { return breaker_; }

  // A call or a probe was answered.
  void answered(Instant now);
  // A call was not, which tells as much as `weight` failures. The sender note()s one by one what
  // the call was to bring. Calls that run out of time at one instant were sent together, and count
  // as one: in a cluster they may be all that one round has sent to one master, while the others
  // answer.
  void call_failed(RedisFailure failure, int weight, Instant now);
  // A probe was not answered, or there was no room for it.
  void probe_failed(RedisFailure failure, Instant now);
  // An item has no answer.
  void note(RedisFailure failure, std::string_view detail, Instant now);

  // The probe to send now: a charge of no other use, each of another key, in a cluster
  // mostly of another slot. It writes, as a Redis that takes no writes is not back. Valid as
  // long as this.
  Charge take_probe();

 private:
  void tell_change(Instant now);

  Breaker breaker_;
  RedisListener& listener_;
  FailureCounts& counts_;
  std::array<Instant, kRedisFailures> last_noted_{};
  Instant last_timed_out_;
  const Quota probe_quota_ =
      *Quota::make({Algorithm::kFixedWindow, kLimitMax, std::chrono::seconds(1)});
  std::uint64_t probes_ = 0;
  std::unique_ptr<Alarm> alarm_;  // for the next probe
};

}  // namespace weir
