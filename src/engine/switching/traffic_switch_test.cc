#include "engine/switching/traffic_switch.h"

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

// The traffic of one table; testdata/traffic_switch.txt explains its form.
class Scene {
 public:
  explicit Scene(const SwitchThresholds& thresholds = {}) : thresholds_(thresholds) {}

  // Returns the number of switches.
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

  // Reads words up to the arrow.
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

// "burst_ratio=4 dwell=30"
SwitchThresholds thresholds_of(std::istream& words) {
  SwitchThresholds all;
  const std::map<std::string, double*> numbers = {
      {"burst_ratio", &all.burst_ratio},   {"burst_ratio_leave", &all.burst_ratio_leave},
      {"rate_min", &all.rate_min},         {"rate_leave", &all.rate_leave},
      {"denied_share", &all.denied_share}, {"denied_share_leave", &all.denied_share_leave}};
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const double value = std::stod(word.substr(name.size() + 1));
    if (name == "dwell") {
      all.dwell = 1s * static_cast<int>(value);
    } else {
      *numbers.at(name) = value;
    }
  }
  return all;
}

TEST(AdaptiveSwitch, SwitchesAsItsTablesSay) {
  std::ifstream file("testdata/traffic_switch.txt");
  std::optional<Scene> scene;
  int switches = 0;
  int tables = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const ::testing::ScopedTrace trace("testdata/traffic_switch.txt", ++number, line);
    std::istringstream words(line.substr(0, line.find(':')));
    std::string word;
    words >> word;
    if (word == "table") {
      scene.emplace(thresholds_of(words));
      switches = 0;
      ++tables;
    } else if (word == "switches") {
      int expected = -1;
      words >> expected;
      EXPECT_EQ(switches, expected);
    } else if (!word.empty() && word[0] != '#') {
      switches += scene.value().run(line);
    }
  }
  EXPECT_GT(tables, 15);
}

// The ratio goes from 0 to 2.5 and back.
TEST(AdaptiveSwitch, BurstsEveryFourSecondsAreNoPlaceToFlap) {
  Scene bursting;
  EXPECT_EQ(bursting.run("12s 50 -> sliding_window\n"), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(bursting.run("1s 200 -> sliding_window\n 3s 0 -> sliding_window\n"), 0);
  }
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
