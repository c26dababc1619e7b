#include "engine/switching/traffic_switch.h"

#include <gtest/gtest.h>

#include <deque>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

// Traffic as text, one line for some seconds that are alike, and the algorithm after the last of
// them. A word for each node: its requests in each of these seconds, and after '/' how many of
// them it denied.
//
//   10s  5 5     -> sliding_window
//    1s  100 80  -> token_bucket      # a burst
//
// Each second ends with a decision, as in a node.
class Scene {
 public:
  explicit Scene(const SwitchThresholds& thresholds = {}) : thresholds_(thresholds) {}

  // Returns how often it switched.
  int run(std::string_view table) {
    int switches = 0;
    std::istringstream lines{std::string(table)};
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find('#'));
      std::istringstream words(line);
      int seconds = 0;
      char unit = 0;
      if (!(words >> seconds >> unit)) continue;
      const std::vector<Second> nodes = read_nodes(words);
      std::string expected;
      words >> expected;
      for (; seconds > 0; --seconds) switches += pass(nodes);
      EXPECT_EQ(algorithm_name(active_), expected) << line << "\n"
                                                   << figures_text(sum_of(recent()));
    }
    return switches;
  }

 private:
  struct Second {
    std::uint64_t requests = 0;
    std::uint64_t denied = 0;
  };

  // Up to the arrow.
  static std::vector<Second> read_nodes(std::istream& words) {
    std::vector<Second> nodes;
    for (std::string word; words >> word && word != "->";) {
      const auto slash = word.find('/');
      nodes.push_back({.requests = std::stoull(word)});
      if (slash != std::string::npos) nodes.back().denied = std::stoull(word.substr(slash + 1));
    }
    return nodes;
  }

  int pass(const std::vector<Second>& nodes) {
    seconds_.push_back(nodes);
    if (seconds_.size() > 10) seconds_.pop_front();
    watched_ += 1s;
    if (since_switch_ != Duration::max()) since_switch_ += 1s;
    const std::vector<RecentRequests> figures = recent();
    const Algorithm chosen =
        choose_algorithm({.nodes = figures, .watched = watched_, .since_switch = since_switch_},
                         active_, thresholds_);
    if (chosen == active_) return 0;
    active_ = chosen;
    since_switch_ = 0s;
    return 1;
  }

  std::vector<RecentRequests> recent() const {
    std::vector<RecentRequests> nodes(seconds_.back().size());
    for (std::size_t second = 0; second < seconds_.size(); ++second) {
      for (std::size_t node = 0; node < seconds_[second].size(); ++node) {
        const Second& counts = seconds_[second][node];
        nodes[node].all += counts.requests;
        nodes[node].denied += counts.denied;
        if (second + 2 >= seconds_.size()) nodes[node].latest += counts.requests;
      }
    }
    return nodes;
  }

  const SwitchThresholds thresholds_;
  std::deque<std::vector<Second>> seconds_;
  Duration watched_{0};
  Duration since_switch_ = Duration::max();
  Algorithm active_ = Algorithm::kSlidingWindow;
};

TEST(AdaptiveSwitch, ABurstOfAHundredAtOnceSwitchesAndTheQuietAfterItSwitchesBack) {
  EXPECT_EQ(Scene().run(R"(
    10s  0    -> sliding_window
     1s  100  -> token_bucket
     4s  0    -> token_bucket      # for the dwell
     1s  0    -> sliding_window
    60s  0    -> sliding_window
  )"),
            2);
}

// Its burst ratio is 5, and it is no burst.
TEST(AdaptiveSwitch, FiveASecondAfterIdlenessSwitchNothing) {
  EXPECT_EQ(Scene().run(R"(
    30s  0   -> sliding_window
    30s  5   -> sliding_window
    30s  0   -> sliding_window
     9s  20  -> sliding_window     # nor do 20 a second: more than 20 must come
  )"),
            0);
}

TEST(AdaptiveSwitch, WhateverComesWithinTenSecondsOfTheStartSwitchesNothing) {
  EXPECT_EQ(Scene().run(R"(
     1s  1000  -> sliding_window
     8s  0     -> sliding_window
  )"),
            0);
  EXPECT_EQ(Scene().run(R"(
     9s  500   -> sliding_window
    20s  500   -> sliding_window
  )"),
            0);
}

TEST(AdaptiveSwitch, ABurstThatGoesOnIsTheRateSoon) {
  EXPECT_EQ(Scene().run(R"(
    10s  10   -> sliding_window
     2s  100  -> token_bucket      # (200 / 2) / (280 / 10) = 3.6
     4s  100  -> token_bucket      # (200 / 2) / (640 / 10) = 1.6, within the dwell
     1s  100  -> sliding_window
    60s  100  -> sliding_window
  )"),
            2);
}

TEST(AdaptiveSwitch, DenialsThatLastSelectBackoffAndCalmLeavesIt) {
  EXPECT_EQ(Scene().run(R"(
    10s  100      -> sliding_window
     5s  100/100  -> sliding_window        # half of the ten seconds is not more than half
     1s  100/100  -> exponential_backoff
    30s  100/60   -> exponential_backoff
    30s  100/40   -> exponential_backoff   # it would not be entered, but it stays
    10s  100/20   -> sliding_window
  )"),
            2);
  EXPECT_EQ(Scene().run(R"(
    10s  20/20  -> sliding_window          # not more than 20 a second
     5s  0      -> sliding_window
     9s  30/30  -> exponential_backoff
     5s  5/5    -> exponential_backoff
    10s  5/5    -> sliding_window          # all denied, and too few
  )"),
            2);
}

TEST(AdaptiveSwitch, ABurstComesBeforeDenials) {
  EXPECT_EQ(Scene().run(R"(
    10s  1        -> sliding_window
     1s  400/390  -> token_bucket
     5s  400/390  -> exponential_backoff
     5s  0        -> exponential_backoff
     5s  0        -> sliding_window
  )"),
            3);
}

// Between the lower threshold and the upper one nothing changes, whichever algorithm is active.
TEST(AdaptiveSwitch, TheBorderIsNoPlaceToFlap) {
  EXPECT_EQ(Scene().run(R"(
    10s  100     -> sliding_window
    60s  100/50  -> sliding_window
     1s  100/60  -> exponential_backoff
    60s  100/49  -> exponential_backoff
    60s  100/51  -> exponential_backoff
    60s  100/30  -> exponential_backoff
  )"),
            1);
  // Bursts every four seconds: the ratio goes from 0 to 2.5 and back.
  Scene bursting;
  EXPECT_EQ(bursting.run("12s 50 -> sliding_window\n"), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(bursting.run("1s 200 -> sliding_window\n 3s 0 -> sliding_window\n"), 0);
  }
}

TEST(AdaptiveSwitch, SwitchesAtMostOnceInADwell) {
  Scene scene({.dwell = 30s});
  EXPECT_EQ(scene.run(R"(
    10s  0    -> sliding_window
     1s  100  -> token_bucket
    29s  0    -> token_bucket
     1s  0    -> sliding_window
     1s  100  -> sliding_window
    40s  0    -> sliding_window     # the burst is over when the dwell is
  )"),
            2);
}

TEST(AdaptiveSwitch, AFleetSwitchesByWhatMostOfItsNodesSee) {
  EXPECT_EQ(Scene().run(R"(
    10s  0 0 0      -> sliding_window
     1s  34 33 33   -> token_bucket     # none of them has 20 a second
     5s  0 0 0      -> sliding_window
  )"),
            2);
  EXPECT_EQ(Scene().run(R"(
    10s  50 50 1    -> sliding_window
     2s  400 400 1  -> token_bucket     # two of three
  )"),
            1);
}

TEST(AdaptiveSwitch, NodesThatSeeDifferentHalvesDoNotFlap) {
  EXPECT_EQ(Scene().run(R"(
    10s  50 50     -> sliding_window
    20s  100 0     -> sliding_window    # clients move from one node to the other
    20s  0 100     -> sliding_window
     2s  900 50    -> sliding_window    # half is not more than half
    10s  50 50     -> sliding_window
    10s  50/50 20  -> sliding_window
  )"),
            0);
}

TEST(AdaptiveSwitch, ANodeThatLiesSwitchesNoRuleThatOthersServe) {
  EXPECT_EQ(Scene().run(R"(
    10s  50 50 0            -> sliding_window
     1s  50 50 100000       -> sliding_window
    10s  50 50 0            -> sliding_window
    20s  50 50 90000/90000  -> sliding_window
  )"),
            0);
  // Nor does it take a rule back: it can hold up a switch.
  EXPECT_EQ(Scene().run(R"(
    10s  50 50 50              -> sliding_window
     6s  50/50 50/50 50/50     -> exponential_backoff
    30s  50/50 50/50 100000    -> exponential_backoff
    30s  50 50 100000/100000   -> exponential_backoff
    10s  50 50 0               -> sliding_window
  )"),
            2);
}

// A node beside others that hardly serve the rule decides with them.
TEST(AdaptiveSwitch, NodesWithoutRequestsOfTheRuleHaveNoSay) {
  EXPECT_EQ(Scene().run(R"(
    10s  0 0 0     -> sliding_window
     1s  100 0 0   -> token_bucket
    10s  0 0 0     -> sliding_window
  )"),
            2);
}

TEST(AdaptiveSwitch, ThresholdsAreSettings) {
  EXPECT_EQ(Scene({.burst_ratio = 5}).run(R"(
    10s  0    -> sliding_window
     1s  900  -> sliding_window       # 5 is the most there can be, so nothing exceeds it
  )"),
            0);
  EXPECT_EQ(Scene({.denied_share = 1}).run(R"(
    30s  900/900  -> sliding_window
  )"),
            0);
  EXPECT_EQ(Scene({.burst_ratio = 4, .burst_ratio_leave = 0.5, .rate_min = 100}).run(R"(
    10s  0    -> sliding_window
     1s  200  -> sliding_window
    10s  0    -> sliding_window
     1s  201  -> token_bucket
     1s  50   -> token_bucket
    60s  50   -> token_bucket         # steady is 1, not below 0.5
  )"),
            1);
  EXPECT_EQ(Scene({.denied_share = 0.1, .denied_share_leave = 0.05, .rate_leave = 20}).run(R"(
    10s  100     -> sliding_window
    10s  100/12  -> exponential_backoff
    20s  100/6   -> exponential_backoff
    10s  19/6    -> sliding_window
  )"),
            2);
}

TEST(AdaptiveSwitch, SaysWhyInWords) {
  EXPECT_EQ(figures_text({.all = 100, .latest = 100, .denied = 25}),
            "burst ratio 5.0, 50.0 requests/s in the last 2 s and 10.0 in the last 10 s, "
            "25 % denied");
  EXPECT_EQ(figures_text({}),
            "burst ratio 0.0, 0.0 requests/s in the last 2 s and 0.0 in the last 10 s, 0 % denied");
  EXPECT_LT(figures_text({.all = UINT64_MAX, .latest = UINT64_MAX, .denied = UINT64_MAX}).size(),
            200u);
}

TEST(AdaptiveSwitch, TheNumberOfASwitchSaysItsAlgorithmAndGrows) {
  EXPECT_EQ(algorithm_of_switch(0), ActiveAlgorithm().algorithm);
  std::uint32_t number = 0;
  for (const Algorithm to : {Algorithm::kTokenBucket, Algorithm::kSlidingWindow,
                             Algorithm::kExponentialBackoff, Algorithm::kTokenBucket}) {
    const ActiveAlgorithm next = next_switch(number, to);
    EXPECT_GT(next.number, number);
    EXPECT_EQ(next.algorithm, to);
    EXPECT_EQ(algorithm_of_switch(next.number), to);
    number = next.number;
  }
  EXPECT_EQ(number, 7u);
}

}  // namespace
}  // namespace weir
