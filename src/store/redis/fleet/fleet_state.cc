#include "store/redis/fleet/fleet_state.h"

#include <algorithm>
#include <utility>

#include "store/redis/client/redis_failure.h"

namespace weir {
namespace {

// A node that reaches Redis so soon after its start tells Redis its earlier decisions.
constexpr Duration kStartMax = std::chrono::seconds(5);

}  // namespace

std::string to_text(const FleetHealth& health, const std::string& redis) {
  if (health.is_healthy) return "connected to " + redis + "; limits are shared";
  return health.reason + "; rules decide as their on_store_failure says until it is back";
}

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
  const bool is_back = has_turned && overall_.is_healthy;
  const bool was_apart = heard_.since > Instant{} || changed > started_ + kStartMax;
  if (is_back && was_apart) note_apart(changed);
  return is_back;
}

FleetHealth FleetState::health() const {
  const std::scoped_lock lock(mutex_);
  return overall_;
}

NodesHeard FleetState::heard() const {
  const std::scoped_lock lock(mutex_);
  return heard_;
}

void FleetState::set_heard(const NodesHeard& heard, Instant now) {
  const std::scoped_lock lock(mutex_);
  if (heard_.since > Instant{}) silence_.note(now - heard_.since, now);
  heard_ = heard;
  if (heard.silent > 0) note_apart(now);
  live_nodes_.store(heard.live, std::memory_order_relaxed);
}

void FleetState::note_apart(Instant now) {
  apart_nodes_ = std::max(apart_nodes_, heard_.live + heard_.silent);
  apart_ = now;
}

// The trips of others are told as averages. A core that saw more limits than it keeps says nothing
// of the others.
SharingFacts FleetState::sharing(const Quota& quota, Instant now) const {
  const std::scoped_lock lock(mutex_);
  const bool has_heard = heard_.since > Instant{};
  const bool was_apart = now < apart_ + quota.window();
  const bool are_together = overall_.is_healthy && heard_.silent == 0 && has_heard;
  const std::int64_t nodes = heard_.live + heard_.silent;
  SharingFacts facts{.nodes = was_apart ? std::max(nodes, apart_nodes_) : nodes,
                     .is_whole = are_together && !was_apart,
                     .silence = has_heard ? now - heard_.since : Duration::max(),
                     .silence_before = silence_.of(now)};
  if (are_together && was_apart) facts.apart = apart_ + quota.window() - now;
  for (const NodeAbout& other : others_) facts.trip = std::max(facts.trip, other.beat);
  for (const Core& core : cores_) {
    const SyncPeaks& peaks = core.figures.peaks;
    facts.trip = std::max(facts.trip, peaks.trip(now));
    facts.busiest = std::max(facts.busiest, peaks.units(quota, now));
  }
  for (const auto& since : waiting_since_) {
    facts.late = std::max(facts.late, now - std::min(now, since.load(std::memory_order_relaxed)));
  }
  return facts;
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

void FleetState::note_beat(Duration trip) {
  constexpr int kShare = 8;
  const std::scoped_lock lock(mutex_);
  beat_ = beat_ == Duration::zero() ? trip : beat_ + (trip - beat_) / kShare;
}

void FleetState::note_loss() {
  const std::scoped_lock lock(mutex_);
  ++losses_;
}

void FleetState::set_others(std::vector<NodeAbout> others) {
  const std::scoped_lock lock(mutex_);
  others_ = std::move(others);
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

SharedStoreFigures FleetState::shown(Mode mode, const TrafficSnapshot& traffic) const {
  const FleetHealth known = health();
  const FleetFigures sums = figures();
  SharedStoreFigures shown{.is_healthy = known.is_healthy,
                           .reason = known.is_healthy ? beat_failure() : known.reason,
                           .since = known.since,
                           .mode = mode_name(mode),
                           .live_nodes = live_nodes(),
                           .traffic = {.is_alone = traffic.scope == TrafficSnapshot::Scope::kNode,
                                       .nodes = traffic.node_count(),
                                       .rates = rates_of(traffic.sum, traffic.known_seconds),
                                       .totals = traffic.totals},
                           .counts = sums.counts};
  {
    const std::scoped_lock lock(mutex_);
    shown.beat = beat_;
    shown.losses = losses_;
    shown.others = others_;
  }
  for (std::size_t kind = 0; kind < kRedisFailures; ++kind) {
    shown.failures.emplace_back(failure_name(static_cast<RedisFailure>(kind)), sums.failures[kind]);
  }
  return shown;
}

}  // namespace weir
