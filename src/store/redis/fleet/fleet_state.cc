#include "store/redis/fleet/fleet_state.h"

#include <algorithm>
#include <utility>

namespace weir {

bool FleetState::report(std::size_t core, FleetHealth health) {
  const std::scoped_lock lock(mutex_);
  const Instant changed = health.since;
  cores_[core].health = std::move(health);
  const auto ill =
      std::ranges::find_if(cores_, [](const Core& one) { return !one.health.is_healthy; });
  FleetHealth overall{.is_healthy = ill == cores_.end(), .since = changed};
  if (!overall.is_healthy) overall.reason = ill->health.reason;
  const bool is_same =
      overall.is_healthy == overall_.is_healthy && overall.reason == overall_.reason;
  if (is_same) return false;
  const bool has_turned = overall.is_healthy != overall_.is_healthy;
  if (!has_turned) overall.since = overall_.since;
  overall_ = std::move(overall);
  return has_turned && overall_.is_healthy;
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

void FleetState::publish(std::size_t core, const FleetFigures& figures) {
  const std::scoped_lock lock(mutex_);
  cores_[core].figures = figures;
}

FleetFigures FleetState::figures() const {
  const std::scoped_lock lock(mutex_);
  FleetFigures sum;
  for (const Core& core : cores_) {
    add_to(sum.counts, core.figures.counts);
    add_to(sum.failures, core.figures.failures);
  }
  return sum;
}

}  // namespace weir
