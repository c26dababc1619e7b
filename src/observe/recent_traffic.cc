#include "observe/recent_traffic.h"

#include <algorithm>
#include <utility>

#include "base/if_memory.h"

namespace weir {
namespace {

constexpr auto kSeconds = static_cast<std::int64_t>(TrafficWindow::kSeconds);
// Ticks so much after the end of a second: a clock known to within a trip may be early.
constexpr Duration kGuard = std::chrono::milliseconds(5);
// The shortest time between two ticks when the lead changes.
constexpr Duration kTickMin = kTrafficSecond / 2;

TrafficCounts counts_of(const RuleFigures& now, const RuleFigures& before) {
  const auto grown = [&](RuleOutcome outcome) {
    const auto index = static_cast<std::size_t>(outcome);
    return now[index] - before[index];
  };
  TrafficCounts counts{.denied = grown(RuleOutcome::kDenied) + grown(RuleOutcome::kBlocked),
                       .shadow = grown(RuleOutcome::kShadow)};
  counts.requests = grown(RuleOutcome::kAllowed) + counts.denied + counts.shadow;
  return counts;
}

}  // namespace

TrafficTotals totals_of(const TrafficSummary& summary) {
  TrafficTotals totals{.denied = summary.total_denied()};
  for (std::size_t i = 0; i < totals.decisions.size(); ++i) {
    totals.decisions[i] = summary.allowed[i] + summary.denied[i];
  }
  return totals;
}

RecentTraffic::RecentTraffic(const Traffic& traffic, Instant now)
    : traffic_(traffic), last_(now), next_(second_after(now)) {
  take_growth(now);
  publish(now);
}

std::shared_ptr<const TrafficSnapshot> RecentTraffic::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

// The end of the first second that ends at `earliest` or later.
Instant RecentTraffic::second_after(Instant earliest) const {
  const Instant there = earliest + lead_ - kGuard;
  return Instant(std::chrono::ceil<std::chrono::seconds>(there.time_since_epoch())) - lead_ +
         kGuard;
}

void RecentTraffic::set_lead(Duration lead) {
  lead_ = lead;
  next_ = second_after(last_ + kTickMin);
}

void RecentTraffic::tick(Instant now) noexcept {
  if (now >= next_) has_memory_for([&] { end_second(now); });
}

void RecentTraffic::end_second(Instant now) {
  auto grown = take_growth(now);
  const std::int64_t missed = (now - next_) / kTrafficSecond;
  own_.window.push_idle(missed);
  own_.window.push(std::move(grown));
  seconds_ += missed + 1;
  last_ = next_ + missed * kTrafficSecond;
  if (fleet_.heard_at) *fleet_.heard_at += missed * kTrafficSecond;  // nobody listened then
  next_ = second_after(last_ + kTickMin);
  publish(now);
}

// How much the counters have grown since the last call.
std::shared_ptr<TrafficSecond> RecentTraffic::take_growth(Instant now) {
  auto grown = std::make_shared<TrafficSecond>();
  std::vector<RuleFigures> figures = traffic_.rules().all_figures();
  for (std::size_t rule = 0; rule < figures.size(); ++rule) {
    const RuleFigures before = rule < rules_before_.size() ? rules_before_[rule] : RuleFigures{};
    const TrafficCounts counts = counts_of(figures[rule], before);
    if (counts.requests == 0) continue;
    grown->rules.push_back({.rule = static_cast<RuleNumber>(rule), .counts = counts});
  }
  const TrafficTotals totals = totals_of(traffic_.summary(now));
  grown->all = {.requests = totals.requests() - own_.totals.requests(),
                .denied = totals.denied - own_.totals.denied};
  own_.totals = totals;
  rules_before_ = std::move(figures);
  return grown;
}

void RecentTraffic::hear(FleetSecond heard, Instant now) {
  if (fleet_.newest && heard.second <= *fleet_.newest) return;
  FleetSeconds next = fleet_;
  if (heard.has_self) next.heard_at = now;
  next.add(std::move(heard));
  fleet_ = std::move(next);
  publish(now);
}

void RecentTraffic::forget_fleet(Instant now) {
  fleet_ = {};
  publish(now);
}

void RecentTraffic::FleetSeconds::add(FleetSecond heard) {
  const std::int64_t missed = newest ? heard.second - *newest - 1 : 0;
  auto all = std::make_shared<TrafficSecond>();
  if (!heard.nodes.empty()) {  // else the size of the fleet is unknown
    if (large.has_value() != heard.large.has_value()) {
      members.clear();
      seconds = 0;
    }
    large = std::move(heard.large);
  }
  seconds += missed + 1;
  for (Member& one : members) one.traffic.window.push_idle(missed + 1);
  heard.nodes.resize(std::min(heard.nodes.size(), kNodesMax));
  for (NodeSecond& node : heard.nodes) {
    all->add(node.counts);
    Member& one = member(node.name);
    one.traffic.window.replace(0, std::make_shared<TrafficSecond>(std::move(node.counts)));
    one.traffic.totals = node.totals;
    one.last_second = heard.second;
  }
  sum.push_idle(missed);
  sum.push(std::move(all));
  newest = heard.second;
  if (missed > 0 || heard.nodes.empty()) known_seconds = 0;
  if (!heard.nodes.empty()) known_seconds = std::min(known_seconds + 1, kSeconds);
  drop_gone_members();
}

RecentTraffic::Member& RecentTraffic::FleetSeconds::member(const std::string& name) {
  const auto name_of = [](const Member& one) -> const std::string& { return one.traffic.name; };
  const auto place = std::ranges::lower_bound(members, name, {}, name_of);
  if (place != members.end() && place->traffic.name == name) return *place;
  return *members.insert(place, {.traffic = {.name = name}});
}

void RecentTraffic::FleetSeconds::drop_gone_members() {
  const auto is_gone = [this](const Member& one) {
    return one.last_second <= *newest - kGoneSeconds;
  };
  if (std::erase_if(members, is_gone) == 0) return;
  for (std::size_t age = 0; age < static_cast<std::size_t>(std::min(seconds, kSeconds)); ++age) {
    auto left = std::make_shared<TrafficSecond>();
    for (const Member& one : members) left->add(one.traffic.window.second(age));
    sum.replace(age, std::move(left));
  }
}

void RecentTraffic::publish(Instant now) {
  auto snapshot = std::make_shared<TrafficSnapshot>();
  snapshot->seconds_running = seconds_;
  snapshot->own = own_;
  snapshot->lead = lead_;
  if (fleet_.heard_at && now < *fleet_.heard_at + kSilenceMax) {
    snapshot->scope = TrafficSnapshot::Scope::kFleet;
    snapshot->newest = *fleet_.newest;
    snapshot->known_seconds = fleet_.known_seconds;
    snapshot->sum = fleet_.sum;
    snapshot->large = fleet_.large;
    for (const Member& one : fleet_.members) {
      snapshot->nodes.push_back(one.traffic);
      snapshot->nodes.back().silent_seconds = *fleet_.newest - one.last_second;
      snapshot->totals += one.traffic.totals;
    }
  } else {
    const Duration ended = (last_ + lead_).time_since_epoch();
    snapshot->newest = std::chrono::floor<std::chrono::seconds>(ended).count() - 1;
    snapshot->known_seconds = std::min(seconds_, kSeconds);
    snapshot->sum = own_.window;
    snapshot->totals = own_.totals;
    snapshot->nodes = {own_};
  }
  const std::scoped_lock lock(mutex_);
  snapshot_ = std::move(snapshot);
}

}  // namespace weir
