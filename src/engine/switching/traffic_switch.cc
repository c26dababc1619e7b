#include "engine/switching/traffic_switch.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace weir {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// In the order of number % 3.
constexpr std::array kSwitched = {Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                  Algorithm::kExponentialBackoff};

struct Choice {
  Algorithm current;
  const SwitchThresholds& thresholds;
  double share = 1;  // by which the least rates are multiplied
};

bool is_burst(const RecentRequests& requests, const Choice& choice) {
  const auto& limits = choice.thresholds;
  if (choice.current == Algorithm::kTokenBucket) {
    return requests.burst_ratio() >= limits.burst_ratio_leave &&
           requests.latest_rate() >= limits.rate_leave * choice.share;
  }
  return requests.burst_ratio() > limits.burst_ratio &&
         requests.latest_rate() > limits.rate_min * choice.share;
}

bool is_denied(const RecentRequests& requests, const Choice& choice) {
  const auto& limits = choice.thresholds;
  if (choice.current == Algorithm::kExponentialBackoff) {
    return requests.denied_share() >= limits.denied_share_leave &&
           requests.rate() >= limits.rate_leave * choice.share;
  }
  return requests.denied_share() > limits.denied_share &&
         requests.rate() > limits.rate_min * choice.share;
}

Algorithm wanted_by(const RecentRequests& requests, const Choice& choice) {
  if (is_burst(requests, choice)) return Algorithm::kTokenBucket;
  if (is_denied(requests, choice)) return Algorithm::kExponentialBackoff;
  return Algorithm::kSlidingWindow;
}

}  // namespace

double RecentRequests::rate() const { return static_cast<double>(all) / seconds(kSpan); }

double RecentRequests::latest_rate() const {
  return static_cast<double>(latest) / seconds(kLatest);
}

double RecentRequests::burst_ratio() const { return ratio(latest_rate(), rate()); }

double RecentRequests::denied_share() const {
  return ratio(static_cast<double>(denied), static_cast<double>(all));
}

RecentRequests& RecentRequests::operator+=(const RecentRequests& other) {
  all += other.all;
  latest += other.latest;
  denied += other.denied;
  return *this;
}

RecentRequests sum_of(std::span<const RecentRequests> nodes) {
  RecentRequests sum;
  for (const RecentRequests& node : nodes) sum += node;
  return sum;
}

Algorithm wanted_algorithm(const RecentRequests& requests, Algorithm current,
                           const SwitchThresholds& thresholds) {
  return wanted_by(requests, {current, thresholds});
}

Algorithm choose_algorithm(const SwitchFigures& figures, Algorithm current,
                           const SwitchThresholds& thresholds) {
  // The first traffic after a start would look like a burst.
  if (figures.watched < RecentRequests::kSpan) return current;
  if (figures.since_switch < thresholds.dwell) return current;
  const Algorithm wanted = wanted_algorithm(sum_of(figures.nodes), current, thresholds);
  if (wanted == current) return current;
  const auto serves = [](const RecentRequests& node) { return node.all > 0; };
  const auto serving = std::ranges::count_if(figures.nodes, serves);
  if (serving == 0) return wanted;
  const Choice of_one{current, thresholds, 1.0 / static_cast<double>(serving)};
  const auto agreeing = std::ranges::count_if(figures.nodes, [&](const RecentRequests& node) {
    return serves(node) && wanted_by(node, of_one) == wanted;
  });
  return 2 * agreeing > serving ? wanted : current;
}

std::string figures_text(const RecentRequests& requests) {
  std::array<char, 256> text;  // no number here has more than 22 characters
  const int length = std::snprintf(
      text.data(), text.size(),
      "burst ratio %.1f, %.1f requests/s in the last 2 s and %.1f in the last 10 s, %.0f %% denied",
      requests.burst_ratio(), requests.latest_rate(), requests.rate(),
      100 * requests.denied_share());
  return {text.data(), static_cast<std::size_t>(length)};
}

Algorithm algorithm_of_switch(std::uint32_t number) { return kSwitched[number % kSwitched.size()]; }

ActiveAlgorithm next_switch(std::uint32_t number, Algorithm to) {
  do {
    ++number;
  } while (algorithm_of_switch(number) != to);
  return {.algorithm = to, .number = number};
}

}  // namespace weir
