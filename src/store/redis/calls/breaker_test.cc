#include "store/redis/calls/redis_troubles.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

Breaker opened() {
  Breaker breaker(7);
  for (int i = 0; i < Breaker::kFailuresMax; ++i) breaker.failed(1, kStart);
  return breaker;
}

TEST(Breaker, OpensAfterFailuresInARow) {
  Breaker breaker(7);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < Breaker::kFailuresMax; ++i) breaker.failed(1, kStart);
    EXPECT_TRUE(breaker.closed());
    breaker.succeeded();
  }
  for (int i = 0; i < Breaker::kFailuresMax; ++i) breaker.failed(1, kStart + 1s);
  EXPECT_FALSE(breaker.closed());
}

TEST(Breaker, ProbesSoonAndThenLessAndLessOften) {
  Breaker breaker = opened();
  Duration wait_max = Breaker::kWaitMin;
  Instant now = kStart;
  for (int probe = 0; probe < 10; ++probe) {
    EXPECT_GE(breaker.probe_at() - now, wait_max / 2);
    EXPECT_LE(breaker.probe_at() - now, wait_max);
    now = breaker.probe_at();
    breaker.probe_sent();
    EXPECT_EQ(breaker.probe_at(), Instant::max());
    breaker.probe_failed(now);
    wait_max = std::min<Duration>(2 * wait_max, 1s);
  }
}

TEST(Breaker, FailuresWhileItIsOpenDelayNothing) {
  Breaker breaker = opened();
  const Instant probe_at = breaker.probe_at();
  for (int i = 0; i < 20; ++i) breaker.failed(1, kStart + 10ms);
  EXPECT_EQ(breaker.probe_at(), probe_at);
}

TEST(Breaker, ClosesOnASuccessAndStartsOver) {
  Breaker breaker = opened();
  for (int probe = 0; probe < 6; ++probe) breaker.probe_failed(kStart);
  breaker.succeeded();
  EXPECT_TRUE(breaker.closed());
  EXPECT_EQ(breaker.probe_at(), Instant::max());
  for (int i = 0; i < Breaker::kFailuresMax; ++i) breaker.failed(1, kStart + 6s);
  EXPECT_LE(breaker.probe_at() - (kStart + 6s), Breaker::kWaitMin);
}

TEST(Breaker, OneFailureMayTellAsMuchAsMany) {
  Breaker breaker(1);
  breaker.failed(Breaker::kFailuresMax, kStart);
  EXPECT_FALSE(breaker.closed());
}

TEST(Breaker, NodesComeBackOutOfStep) {
  Breaker one(7);
  Breaker other(8);
  for (int i = 0; i < Breaker::kFailuresMax; ++i) {
    one.failed(1, kStart);
    other.failed(1, kStart);
  }
  EXPECT_NE(one.probe_at(), other.probe_at());
}

}  // namespace
}  // namespace weir
