#include "store/redis/fleet/fleet_state.h"

#include <algorithm>
#include <utility>

namespace weir {

std::optional<FleetHealth> FleetState::report(std::size_t core, FleetHealth health) {
  const std::scoped_lock lock(mutex_);
  const Instant changed = health.since;
  cores_[core].health = std::move(health);
  const auto ill =
      std::ranges::find_if(cores_, [](const Core& one) { return !one.health.is_healthy; });
  FleetHealth overall{.is_healthy = ill == cores_.end(), .since = changed};
  if (!overall.is_healthy) overall.reason = ill->health.reason;
  const bool is_same =
      overall.is_healthy == overall_.is_healthy && overall.reason == overall_.reason;
  if (is_same) return std::nullopt;
  if (overall.is_healthy == overall_.is_healthy) overall.since = overall_.since;
  overall_ = overall;
  return overall;
}

FleetHealth FleetState::health() const {
  const std::scoped_lock lock(mutex_);
  return overall_;
}

void FleetState::publish(std::size_t core, const RedisStoreCounts& counts) {
  const std::scoped_lock lock(mutex_);
  cores_[core].counts = counts;
}

RedisStoreCounts FleetState::counts() const {
  const std::scoped_lock lock(mutex_);
  RedisStoreCounts sum;
  for (const Core& core : cores_) {
    sum.calls += core.counts.calls;
    sum.charges += core.counts.charges;
    sum.remembered += core.counts.remembered;
    sum.reloads += core.counts.reloads;
    for (std::size_t i = 0; i < kRedisFailures; ++i) sum.failures[i] += core.counts.failures[i];
  }
  return sum;
}

}  // namespace weir
