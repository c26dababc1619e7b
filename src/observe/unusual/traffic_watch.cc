#include "observe/unusual/traffic_watch.h"

#include <algorithm>
#include <iterator>

namespace weir {
namespace {

using Change = UnusualTraffic::Change;

constexpr auto kSeconds = static_cast<std::int64_t>(TrafficWindow::kSeconds);

// If the clock went back by more, somebody has set it.
constexpr std::int64_t kBackMax = 60;  // seconds

}  // namespace

std::optional<std::uint64_t> TrafficWatch::Second::requests_of(RuleNumber rule) const {
  if (counts == nullptr) return std::nullopt;
  if (whole != nullptr && !std::ranges::binary_search(*whole, rule)) return std::nullopt;
  return counts->of(rule).requests;
}

std::vector<TrafficWatch::Found> TrafficWatch::look(const TrafficSnapshot& snapshot) {
  std::vector<Found> found;
  if (snapshot.scope != options_.scope) {
    pass_time(snapshot.newest, found);
    return found;
  }
  alone_.reset();
  const std::int64_t first = first_to_look_at(snapshot.newest, found);
  if (first > snapshot.newest) return found;
  const auto busiest = options_.scope == TrafficSnapshot::Scope::kFleet
                           ? busiest_rules(snapshot.sum, kFleetRules)
                           : std::vector<RuleNumber>();
  const bool is_whole = busiest.size() < kFleetRules;
  for (std::int64_t second = first; second <= snapshot.newest; ++second) {
    const std::int64_t age = snapshot.newest - second;
    const bool is_known = age < snapshot.known_seconds;
    add({.number = second,
         .counts = is_known ? &snapshot.sum.second(static_cast<std::size_t>(age)) : nullptr,
         .whole = is_whole ? nullptr : &busiest},
        found);
  }
  last_ = snapshot.newest;
  return found;
}

std::int64_t TrafficWatch::first_to_look_at(std::int64_t newest, std::vector<Found>& found) {
  if (last_ && newest < *last_ - kBackMax) begin_anew(newest, found);
  return last_ ? std::max(*last_ + 1, newest - kSeconds + 1) : newest;
}

// The seconds are of another clock, so only the number of seconds passed counts.
void TrafficWatch::pass_time(std::int64_t newest, std::vector<Found>& found) {
  const std::int64_t passed = alone_ ? newest - *alone_ : 0;
  alone_ = newest;
  for (std::int64_t i = 0; last_ && i < std::min(passed, kSeconds); ++i) {
    *last_ += 1;
    add({.number = *last_}, found);
  }
}

void TrafficWatch::add(const Second& second, std::vector<Found>& found) {
  watch_new(second);
  for (auto entry = rules_.begin(); entry != rules_.end();) {
    auto& [rule, watched] = *entry;
    const auto requests = second.requests_of(rule);
    if (requests > 0U) watched.last_request = second.number;
    const Change change = watched.traffic.add(second.number, requests);
    if (change != Change::kNone) {
      found.push_back(
          {.rule = rule, .change = change, .second = second.number, .traffic = watched.traffic});
    }
    const bool is_idle = second.number - watched.last_request > kIdleMax;
    entry = is_idle && !watched.traffic.is_unusual() ? rules_.erase(entry) : std::next(entry);
  }
}

void TrafficWatch::watch_new(const Second& second) {
  if (second.counts == nullptr) return;
  for (const RuleTraffic& counted : second.counts->rules) {
    if (rules_.size() >= kRulesMax) return;
    if (!second.requests_of(counted.rule)) continue;
    rules_.try_emplace(counted.rule, Watched{.traffic = UnusualTraffic(options_.learn_s),
                                             .last_request = second.number});
  }
}

void TrafficWatch::begin_anew(std::int64_t newest, std::vector<Found>& found) {
  for (const auto& [rule, watched] : rules_) {
    if (!watched.traffic.is_unusual()) continue;
    found.push_back(
        {.rule = rule, .change = Change::kEnded, .second = newest, .traffic = watched.traffic});
  }
  rules_.clear();
  last_.reset();
}

}  // namespace weir
