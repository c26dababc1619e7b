#include "observe/traffic_window.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace weir {
namespace {

const TrafficSecond kIdleSecond{};

double per_second(const CountedSeconds& counted) {
  return static_cast<double>(counted.counts.requests) / static_cast<double>(counted.seconds);
}

}  // namespace

TrafficCounts TrafficSecond::of(RuleNumber rule) const {
  const auto found = std::ranges::lower_bound(rules, rule, {}, &RuleTraffic::rule);
  return found != rules.end() && found->rule == rule ? found->counts : TrafficCounts{};
}

void TrafficSecond::add(const TrafficSecond& other) {
  all += other.all;
  if (other.rules.empty()) return;
  const auto middle = static_cast<std::ptrdiff_t>(rules.size());
  rules.insert(rules.end(), other.rules.begin(), other.rules.end());
  std::ranges::inplace_merge(rules, rules.begin() + middle, {}, &RuleTraffic::rule);
  auto last = rules.begin();
  for (auto next = last + 1; next != rules.end(); ++next) {
    if (next->rule == last->rule) {
      last->counts += next->counts;
    } else {
      *++last = *next;
    }
  }
  rules.erase(last + 1, rules.end());
}

const TrafficSecond& TrafficWindow::second(std::size_t age) const {
  const auto& found = seconds_[age];
  return found == nullptr ? kIdleSecond : *found;
}

TrafficCounts TrafficWindow::all(std::size_t last) const {
  TrafficCounts sum;
  for (std::size_t age = 0; age < last; ++age) sum += second(age).all;
  return sum;
}

TrafficCounts TrafficWindow::of(RuleNumber rule, std::size_t last) const {
  TrafficCounts sum;
  for (std::size_t age = 0; age < last; ++age) sum += second(age).of(rule);
  return sum;
}

std::vector<RuleTraffic> TrafficWindow::rules() const {
  TrafficSecond sum;
  for (const auto& one : seconds_) {
    if (one != nullptr) sum.add(*one);
  }
  return std::move(sum.rules);
}

void TrafficWindow::push(std::shared_ptr<const TrafficSecond> finished) {
  std::ranges::move_backward(seconds_.begin(), seconds_.end() - 1, seconds_.end());
  seconds_.front() = std::move(finished);
}

void TrafficWindow::push_idle(std::int64_t seconds) {
  const auto most = std::min(seconds, static_cast<std::int64_t>(kSeconds));
  for (std::int64_t i = 0; i < most; ++i) push(nullptr);
}

void TrafficWindow::replace(std::size_t age, std::shared_ptr<const TrafficSecond> other) {
  seconds_[age] = std::move(other);
}

TrafficRates rates_of(const CountedSeconds& all, const CountedSeconds& latest) {
  if (all.counts.requests == 0) return {};
  const double rate = per_second(all);
  return {.requests_per_second = rate,
          .denied_share =
              static_cast<double>(all.counts.denied) / static_cast<double>(all.counts.requests),
          .burst_ratio = per_second(latest) / rate};
}

TrafficRates rates_of(const TrafficWindow& window, std::int64_t known, RuleNumber rule) {
  const auto last = [&](std::size_t seconds) -> CountedSeconds {
    return {rule == kNoRuleNumber ? window.all(seconds) : window.of(rule, seconds), seconds};
  };
  const auto all = static_cast<std::size_t>(known);
  return rates_of(last(all), last(std::min(all, TrafficWindow::kLatest)));
}

std::vector<RuleNumber> busiest_rules(const TrafficWindow& window, std::size_t most) {
  std::vector<RuleTraffic> rules = window.rules();
  if (rules.size() > most) {
    const auto end = rules.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::nth_element(rules, end, std::ranges::greater(),
                             [](const RuleTraffic& one) { return one.counts.requests; });
    rules.erase(end, rules.end());
  }
  std::vector<RuleNumber> numbers;
  for (const RuleTraffic& one : rules) numbers.push_back(one.rule);
  std::ranges::sort(numbers);
  return numbers;
}

std::uint64_t TrafficTotals::requests() const {
  return std::accumulate(decisions.begin(), decisions.end(), std::uint64_t{0});
}

Algorithm TrafficTotals::most_used() const {
  auto most = static_cast<std::size_t>(Algorithm::kSlidingWindow);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i] > decisions[most]) most = i;
  }
  return static_cast<Algorithm>(most);
}

TrafficTotals& TrafficTotals::operator+=(const TrafficTotals& other) {
  std::ranges::transform(decisions, other.decisions, decisions.begin(), std::plus());
  denied += other.denied;
  return *this;
}

}  // namespace weir
