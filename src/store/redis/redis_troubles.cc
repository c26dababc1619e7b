#include "store/redis/redis_troubles.h"

#include <utility>

namespace weir {

RedisTroubles::RedisTroubles(const Breaker& breaker, Reactor& reactor, RedisStoreListener& listener,
                             FailureCounts& counts, std::function<void(Instant now)> probe)
    : breaker_(breaker),
      listener_(listener),
      counts_(counts),
      alarm_(reactor.make_alarm([this, probe = std::move(probe)](Instant now) {
        if (breaker_.probe_at() <= now) probe(now);
      })) {}

void RedisTroubles::answered(Instant now) {
  const bool was_closed = breaker_.closed();
  breaker_.succeeded(now);
  if (!was_closed) listener_.breaker_changed(now);
}

void RedisTroubles::call_failed(RedisFailure failure, Instant now) {
  if (!breaker_.closed() || !concerns_all(failure)) return;
  const bool timed_out = failure == RedisFailure::kTimedOut;
  if (timed_out && std::exchange(last_timed_out_, now) == now) return;
  breaker_.failed(now);
  if (breaker_.closed()) return;
  alarm_->set(breaker_.probe_at());
  listener_.breaker_changed(now);
}

void RedisTroubles::probe_failed(RedisFailure failure, Instant now) {
  if (breaker_.closed()) return call_failed(failure, now);  // a call was answered meanwhile
  breaker_.probe_failed(now);
  alarm_->set(breaker_.probe_at());
}

void RedisTroubles::note(RedisFailure failure, std::string_view detail, Instant now) {
  const auto kind = static_cast<std::size_t>(failure);
  ++counts_[kind];
  const bool is_news = now - last_noted_[kind] >= kNamedAgain;
  last_noted_[kind] = now;
  if (is_news && failure != RedisFailure::kNotAsked) listener_.redis_failed(failure, detail, now);
}

Charge RedisTroubles::take_probe() {
  breaker_.probe_sent();
  return probes_.next();
}

}  // namespace weir
