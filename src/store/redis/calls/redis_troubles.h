// RedisTroubles: counts a core's failed calls of a Redis, reports news of them, and says whether
// Redis is worth a call.
//
// Calls that fail open a breaker. While it is open, the sender refuses all errands as kNotAsked.
// Now and then it sends a probe, a charge of a key of its own, until Redis answers one. The sender
// reports the outcome of calls and probes; the listener hears news of it.
//
// Thread rule: one core. Tested by redis_troubles_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/prng.h"
#include "proto/reactor.h"
#include "store/redis/client/redis_client.h"
#include "weir/quota.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// Breaker: when to stop asking a Redis that does not answer, and when to try again.
//
//              kFailuresMax failures in a row           a probe succeeds
//   closed ───────────────────────────────────> open ───────────────────> closed
//                                          ^     │ each probe that fails doubles
//                                          └─────┘ the wait for the next
//
// While it is open no check waits for a deadline. Waits are jittered, so that the nodes of a
// fleet do not come back in step.
//
// Thread rule: one core. Tested by breaker_test.cc.
class Breaker {
 public:
  static constexpr int kFailuresMax = 4;
  static constexpr Duration kWaitMin = std::chrono::milliseconds(50);
  static constexpr Duration kWaitMax = std::chrono::seconds(1);

  // `seed` makes the jitter: another one for each node and core.
  explicit Breaker(std::uint64_t seed) : chance_(seed) {}

  bool closed() const { return !open_; }
  // When to try again. Instant::max(): it is closed, or a probe is on its way.
  Instant probe_at() const { return probe_at_; }

  void succeeded() {
    failures_ = 0;
    if (!open_) return;
    open_ = false;
    probe_at_ = Instant::max();
    wait_ = kWaitMin;
  }

  // One failure, which counts as `weight` of them.
  void failed(int weight, Instant now) {
    failures_ += weight;
    if (open_ || failures_ < kFailuresMax) return;
    open_ = true;
    wait_for_next_probe(now);
  }

  void probe_sent() { probe_at_ = Instant::max(); }

  void probe_failed(Instant now) {
    wait_ = std::min(2 * wait_, kWaitMax);
    wait_for_next_probe(now);
  }

 private:
  // From half of the wait to all of it.
  void wait_for_next_probe(Instant now) {
    const auto half = static_cast<std::uint32_t>(wait_.count() / 2);
    probe_at_ = now + Duration{half + chance_.below(half + 1)};
  }

  bool open_ = false;
  int failures_ = 0;
  Duration wait_ = kWaitMin;
  Instant probe_at_ = Instant::max();
  Prng chance_;
};

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
  // A call was not answered, which counts as `weight` failures. The sender calls note() for each
  // errand of the call. Calls that run out of time at one instant were sent together, and count as
  // one. In a cluster they may be all calls of one round to one master, while the others answer.
  void call_failed(RedisFailure failure, int weight, Instant now);
  // A probe was not answered, or there was no room for it.
  void probe_failed(RedisFailure failure, Instant now);
  // An errand has no answer.
  void note(RedisFailure failure, std::string_view detail, Instant now);

  // The probe to send now: a charge that nobody needs. Each probe is of another key, in a cluster
  // mostly of another slot. It writes, as a Redis that takes no writes is not back. Valid as long
  // as this.
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
