#include "observe/traffic.h"

#include <thread>

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'000'000'000'000'000);
constexpr Decision kAllow{.verdict = Verdict::kAllowed};
constexpr Decision kDeny{.verdict = Verdict::kDenied};
constexpr Decision kNever{.verdict = Verdict::kNever};

void record(CoreTraffic& core, const Decision& decision, int times, Instant now) {
  for (int i = 0; i < times; ++i) core.record(decision, Algorithm::kSlidingWindow, now);
}

TEST(Traffic, NothingIsZeroNotNan) {
  Traffic traffic;
  traffic.add_core();
  const TrafficSummary summary = traffic.summary(kStart);
  EXPECT_EQ(summary.total_allowed(), 0u);
  EXPECT_EQ(summary.requests_per_second, 0.0);
  EXPECT_EQ(summary.denied_share, 0.0);
  EXPECT_EQ(summary.burst_ratio, 0.0);
}

TEST(Traffic, CountsByAlgorithmAndVerdict) {
  Traffic traffic;
  CoreTraffic& core = traffic.add_core();
  core.record(kAllow, Algorithm::kTokenBucket, kStart);
  core.record(kDeny, Algorithm::kTokenBucket, kStart);
  core.record(kNever, Algorithm::kFixedWindow, kStart);
  core.record_look();
  core.record_store_error();

  const TrafficSummary summary = traffic.summary(kStart);
  EXPECT_EQ(summary.allowed[static_cast<std::size_t>(Algorithm::kTokenBucket)], 1u);
  EXPECT_EQ(summary.denied[static_cast<std::size_t>(Algorithm::kTokenBucket)], 1u);
  EXPECT_EQ(summary.denied[static_cast<std::size_t>(Algorithm::kFixedWindow)], 1u);
  EXPECT_EQ(summary.total_allowed(), 1u);
  EXPECT_EQ(summary.total_denied(), 2u);
  EXPECT_EQ(summary.looks, 1u);
  EXPECT_EQ(summary.store_errors, 1u);
}

TEST(Traffic, RatesAreOfTheLastTenWholeSeconds) {
  Traffic traffic;
  CoreTraffic& core = traffic.add_core();
  record(core, kAllow, 100, kStart);
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 900ms).requests_per_second, 0.0);  // not over yet
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 1s).requests_per_second, 10.0);
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 10s).requests_per_second, 10.0);
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 11s).requests_per_second, 0.0);
  EXPECT_EQ(traffic.summary(kStart + 11s).total_allowed(), 100u);
}

TEST(Traffic, BurstRatioComparesTwoSecondsWithTen) {
  Traffic traffic;
  CoreTraffic& core = traffic.add_core();
  for (int second = 0; second < 10; ++second) record(core, kAllow, 5, kStart + second * 1s);
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 10s).burst_ratio, 1.0);

  // A hundred at once after eight quiet seconds.
  record(core, kAllow, 100, kStart + 30s);
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 31s).burst_ratio, 5.0);
  EXPECT_DOUBLE_EQ(traffic.summary(kStart + 34s).burst_ratio, 0.0);  // over
}

TEST(Traffic, SlotsAreUsedAgain) {
  Traffic traffic;
  CoreTraffic& core = traffic.add_core();
  for (int second = 0; second < 100; ++second) record(core, kDeny, 2, kStart + second * 1s);
  const TrafficSummary summary = traffic.summary(kStart + 100s);
  EXPECT_DOUBLE_EQ(summary.requests_per_second, 2.0);
  EXPECT_DOUBLE_EQ(summary.denied_share, 1.0);
}

TEST(Traffic, TimesBeforeTheEpochAreTimes) {
  Traffic traffic;
  record(traffic.add_core(), kAllow, 10, instant_from_epoch_us(-1));
  EXPECT_DOUBLE_EQ(traffic.summary(instant_from_epoch_us(0)).requests_per_second, 1.0);
}

// A core counts a thousand a second while its seconds pass in microseconds. A reader must never see
// more than a core can have counted.
TEST(Traffic, ReadersNeverSeeASecondTwice) {
  Traffic traffic;
  CoreTraffic& core = traffic.add_core();
  std::atomic<std::int64_t> second{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::int64_t s = 0; s < 2'000; ++s) {
      record(core, kAllow, 100, kStart + s * 1s);
      second.store(s, std::memory_order_release);
    }
    stop = true;
  });
  while (!stop) {
    const auto reached = second.load(std::memory_order_acquire);
    const TrafficSummary summary = traffic.summary(kStart + reached * 1s + 1s);
    ASSERT_LE(summary.requests_per_second, 100.0);
  }
  writer.join();
}

}  // namespace
}  // namespace weir
