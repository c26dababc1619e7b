#include "observe/traffic_history.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace weir {
namespace {

// The shortest time between ends of seconds: half a second when somebody sets Redis's clock.
constexpr Duration kApart = kTrafficSecond / 2;

// Only the last step of a tier has more rules than a step keeps.
static_assert(TrafficHistory::kStepsMax * (sizeof(TrafficHistory::Step) +
                                           TrafficHistory::kRulesMax * sizeof(RuleTraffic)) +
                  RuleCounts::kRulesMax * (sizeof(TrafficHistory::Run) + 3 * sizeof(RuleTraffic)) <
              TrafficHistory::kMemoryMax);

// Puts the rules that denied most in front, and returns the sum of the others.
TrafficCounts keep_most(std::vector<RuleTraffic>& rules) {
  TrafficCounts rest;
  const auto end = rules.begin() +
                   static_cast<std::ptrdiff_t>(std::min(rules.size(), TrafficHistory::kRulesMax));
  std::ranges::partial_sort(rules, end, [](const RuleTraffic& one, const RuleTraffic& other) {
    const auto rank = [](const TrafficCounts& of) {
      return std::tuple(of.denied, of.shadow, of.requests);
    };
    const auto [first, second] = std::pair(rank(one.counts), rank(other.counts));
    return first != second ? first > second : one.rule < other.rule;
  });
  for (auto one = end; one != rules.end(); ++one) rest += one->counts;
  rules.erase(end, rules.end());
  return rest;
}

}  // namespace

void TrafficHistory::Step::shorten() {
  others += keep_most(counts.rules);
  std::ranges::sort(counts.rules, {}, &RuleTraffic::rule);
  counts.rules.shrink_to_fit();
}

void TrafficHistory::keep(const TrafficSnapshot& traffic, const LatencyFigures& latency) {
  latency_ += latency;
  for (std::int64_t age = traffic.known_seconds - 1; age >= 0; --age) {
    const Instant end = Instant((traffic.newest - age + 1) * kTrafficSecond) - traffic.lead;
    if (newest_ && end < *newest_ + kApart) continue;
    newest_ = end;
    Step about{.end = end,
               .seconds = 1,
               .nodes = traffic.node_count(),
               .is_alone = traffic.scope == TrafficSnapshot::Scope::kNode};
    if (age == 0) about.latency = std::exchange(latency_, {});
    add(traffic.sum.second(static_cast<std::size_t>(age)), std::move(about));
  }
}

void TrafficHistory::add(const TrafficSecond& second, Step about) {
  for (Tier& tier : tiers_) {
    auto& steps = tier.steps;
    const auto place = [&](Instant end) { return (end - kApart).time_since_epoch() / tier.step; };
    const bool fits = tier.step > kTrafficSecond && !steps.empty() &&
                      place(steps.back().end) == place(about.end) &&
                      steps.back().is_alone == about.is_alone;
    if (!fits) {
      if (!steps.empty()) steps.back().shorten();
      if (steps.size() == tier.steps_max) steps.pop_front();
      steps.push_back({.nodes = about.nodes, .is_alone = about.is_alone});
    }
    Step& step = steps.back();
    step.end = about.end;
    step.seconds += about.seconds;
    step.nodes = std::min(step.nodes, about.nodes);
    step.counts.add(second);
    step.latency += about.latency;
  }
  note_begin(about);
  for (const RuleTraffic& one : second.rules) {
    if (one.counts.denied == 0) continue;
    if (runs_.size() <= one.rule) runs_.resize(one.rule + 1);
    Run& run = runs_[one.rule];
    if (about.end >= run.last + kPause) {
      run.first = about.end - kTrafficSecond;
      run.may_be_older = run.first < *begun_ + kPause;
    }
    run.last = about.end;
  }
}

// While this node was alone, it heard of no denials of others: a run may be older than known.
void TrafficHistory::note_begin(const Step& about) {
  const Instant began = about.end - kTrafficSecond;
  if (about.is_alone) {
    if (!alone_since_) alone_since_ = began;
  } else if (const auto since = std::exchange(alone_since_, std::nullopt)) {
    begun_ = began;
    for (Run& run : runs_) run.may_be_older |= run.first >= *since;
  }
  if (!begun_) begun_ = began;
}

TrafficHistory::Span TrafficHistory::last(Duration span) const {
  const auto reaches = [span](const Tier& tier) {
    return tier.step * static_cast<std::int64_t>(tier.steps_max) >= span;
  };
  const Tier& tier = *std::ranges::find_if(tiers_, reaches);
  Span found{.step = tier.step};
  for (const Step& step : tier.steps) {
    if (step.end > *newest_ - span + kApart) found.steps.push_back(&step);
  }
  return found;
}

std::optional<TrafficHistory::Run> TrafficHistory::run(RuleNumber rule) const {
  if (rule >= runs_.size() || runs_[rule].last == Instant{}) return std::nullopt;
  return runs_[rule];
}

DenyingRules rules_of(const TrafficHistory::Span& span) {
  std::unordered_map<RuleNumber, TrafficCounts> sums;
  DenyingRules found;
  for (const auto* step : span.steps) {
    const bool counts = step->is_alone == span.steps.back()->is_alone;
    if (counts) found.others += step->others;
    for (const RuleTraffic& one : step->counts.rules) {
      sums[one.rule] += counts ? one.counts : TrafficCounts();
      if (!counts && one.counts.denied > 0) found.apart[one.rule] += one.counts.denied;
    }
  }
  for (const auto& [rule, counts] : sums) found.rules.push_back({.rule = rule, .counts = counts});
  found.others += keep_most(found.rules);
  return found;
}

}  // namespace weir
