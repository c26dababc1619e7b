#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "accuracy/traffic.h"
#include "accuracy/trial.h"
#include "accuracy/windows.h"
#include "algo/sliding_log.h"
#include "algo/testing/vector_log.h"

namespace weir::lab {
namespace {

using namespace std::chrono_literals;

constexpr Population::Spec kSmall{.sources = 3'000, .requests = 2e6, .length = 20min, .seed = 1};

std::map<std::string, WindowTally> tallies(Traffic traffic, std::int64_t limit) {
  const Population population(kSmall);
  Trial trial(limit, 1min);
  std::vector<Instant> times;
  for (std::uint32_t source = 0; source < kSmall.sources; ++source) {
    population.draw(traffic, source, times);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    trial.take(times, kSmall.length);
  }
  std::map<std::string, WindowTally> found;
  for (const WindowTally& tally : trial.tallies()) found[tally.window] = tally;
  return found;
}

class AllTraffic : public testing::TestWithParam<Traffic> {};

TEST_P(AllTraffic, IsMisjudgedLessByThePreciseWindowAndNeverAdmittedTooMuchByTheStrictOne) {
  for (const std::int64_t limit : {100, 300}) {
    auto found = tallies(GetParam(), limit);
    const auto& exact = found.at("exact log");
    const auto& two = found.at("two counters");
    const auto& strict = found.at("five strict sub-windows");
    const auto& precise = found.at("precise past a quarter");
    EXPECT_NEAR(static_cast<double>(exact.requests), kSmall.requests, kSmall.requests / 10);
    EXPECT_EQ(exact.misjudged(), 0U);
    EXPECT_GT(exact.over, 0U);
    EXPECT_GT(two.worst, limit);
    EXPECT_LE(exact.worst, limit);
    EXPECT_LE(strict.worst, limit);
    EXPECT_LE(precise.worst, two.worst);
    EXPECT_GE(two.misjudged(), 6 * precise.misjudged());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, AllTraffic, testing::ValuesIn(kTraffics),
                         [](const auto& each) { return traffic_name(each.param); });

TEST(ExactLogOfAccuracy, IsTheSlidingLog) {
  const Quota log = *Quota::make({Algorithm::kSlidingLog, 20, 1min});
  const Quota window = *Quota::make({Algorithm::kSlidingWindow, 20, 1min});
  const Population population({.sources = 20, .requests = 40'000, .length = 1h, .seed = 7});
  std::vector<Instant> times;
  for (std::uint32_t source = 0; source < 20; ++source) {
    population.draw(Traffic::kBursty, source, times);
    algo::testing::VectorLog truth;
    ExactLog exact(window);
    for (const Instant now : times) {
      const bool is_over = exact.is_over(now);
      if (!is_over) exact.add(now);
      ASSERT_EQ(algo::decide(log, truth, 1, now).allowed(), !is_over);
    }
  }
}

}  // namespace
}  // namespace weir::lab
