#include "store/redis/calls/redis_troubles.h"

#include <utility>

#include "base/if_memory.h"

namespace weir {

RedisTroubles::RedisTroubles(const Breaker& breaker, Reactor& reactor, RedisListener& listener,
                             FailureCounts& counts, std::function<void(Instant now)> probe)
    : breaker_(breaker),
      listener_(listener),
      counts_(counts),
      alarm_(reactor.make_alarm([this, probe = std::move(probe)](Instant now) {
        if (breaker_.probe_at() <= now) probe(now);
      })) {}

void RedisTroubles::answered(Instant now) {
  const bool was_closed = breaker_.closed();
  breaker_.succeeded();
  if (!was_closed) tell_change(now);
}

void RedisTroubles::call_failed(RedisFailure failure, int weight, Instant now) {
  if (!breaker_.closed() || !concerns_all(failure)) return;
  const bool timed_out = failure == RedisFailure::kTimedOut && weight == 1;
  if (timed_out && std::exchange(last_timed_out_, now) == now) return;
  breaker_.failed(weight, now);
  if (breaker_.closed()) return;
  alarm_->set(breaker_.probe_at());
  tell_change(now);
}

// Telling a person is not worth the process, nor the batches that wait for an answer. If there is
// no memory for it, the listener finds out itself, as it looks now and then.
void RedisTroubles::tell_change(Instant now) {
  has_memory_for([&] { listener_.breaker_changed(now); });
}

void RedisTroubles::probe_failed(RedisFailure failure, Instant now) {
  if (breaker_.closed()) return call_failed(failure, 1, now);  // a call was answered meanwhile
  breaker_.probe_failed(now);
  alarm_->set(breaker_.probe_at());
}

void RedisTroubles::note(RedisFailure failure, std::string_view detail, Instant now) {
  const auto kind = static_cast<std::size_t>(failure);
  ++counts_[kind];
  const bool is_news = now - last_noted_[kind] >= kNamedAgain;
  const Instant noted_before = std::exchange(last_noted_[kind], now);
  if (!is_news || failure == RedisFailure::kNotAsked) return;
  const bool is_told = has_memory_for([&] { listener_.redis_failed(failure, detail, now); });
  if (!is_told) last_noted_[kind] = noted_before;
}

Charge RedisTroubles::take_probe() {
  breaker_.probe_sent();
  ++probes_;
  return {.key = {probes_ * 0x9e3779b97f4a7c15, probes_}, .quota = &probe_quota_};
}

}  // namespace weir
