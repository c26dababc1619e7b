#include "store/redis/fleet/fleet_state.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

void add(const LeasedStoreCounts& one, LeasedStoreCounts& sum) {
  sum.from_memory += one.from_memory;
  sum.waited += one.waited;
  sum.passed_on += one.passed_on;
  sum.leases += one.leases;
  sum.granted += one.granted;
  sum.returned += one.returned;
  sum.expired += one.expired;
}

void add(const AsyncStoreCounts& one, AsyncStoreCounts& sum) {
  sum.from_memory += one.from_memory;
  sum.passed_on += one.passed_on;
  sum.pushes += one.pushes;
  sum.pushed += one.pushed;
  sum.merged += one.merged;
  sum.alone += one.alone;
  sum.forgotten += one.forgotten;
}

}  // namespace

void FleetState::report(std::size_t core, FleetHealth health) {
  const std::scoped_lock lock(mutex_);
  const Instant changed = health.since;
  cores_[core].health = std::move(health);
  const auto ill =
      std::ranges::find_if(cores_, [](const Core& one) { return !one.health.is_healthy; });
  FleetHealth overall{.is_healthy = ill == cores_.end(), .since = changed};
  if (!overall.is_healthy) overall.reason = ill->health.reason;
  const bool is_same =
      overall.is_healthy == overall_.is_healthy && overall.reason == overall_.reason;
  if (is_same) return;
  if (overall.is_healthy == overall_.is_healthy) overall.since = overall_.since;
  overall_ = std::move(overall);
}

FleetHealth FleetState::health() const {
  const std::scoped_lock lock(mutex_);
  return overall_;
}

bool FleetState::set_beat_failure(std::string_view why) {
  const std::scoped_lock lock(mutex_);
  if (beat_failure_ == why) return false;
  beat_failure_ = why;
  return true;
}

std::string FleetState::beat_failure() const {
  const std::scoped_lock lock(mutex_);
  return beat_failure_;
}

bool FleetState::is_news(RedisFailure failure, Instant now) {
  const std::scoped_lock lock(mutex_);
  Instant& named = named_[static_cast<std::size_t>(failure)];
  if (named != Instant{} && now < named + RedisTroubles::kNamedAgain) return false;
  named = now;
  return true;
}

void FleetState::publish(std::size_t core, const FleetCounts& counts) {
  const std::scoped_lock lock(mutex_);
  cores_[core].counts = counts;
}

FleetCounts FleetState::counts() const {
  const std::scoped_lock lock(mutex_);
  FleetCounts sum;
  for (const Core& core : cores_) {
    sum.strict += core.counts.strict;
    sum.trips += core.counts.trips;
    sum.remembered += core.counts.remembered;
    add(core.counts.leased, sum.leased);
    add(core.counts.async, sum.async);
  }
  return sum;
}

}  // namespace weir
