#include "store/redis/calls/redis_troubles.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/reactor_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

struct Journal final : RedisListener {
  void redis_failed(RedisFailure failure, std::string_view detail, Instant) override {
    text += std::string(failure_name(failure)) + "(" + std::string(detail) + ") ";
  }
  void breaker_changed(Instant) override { text += "breaker "; }
  std::string text;
};

class RedisTroublesTest : public ::testing::Test {
 protected:
  void open(Instant now) {
    for (int i = Breaker::kFailuresMax; i > 0; --i) {
      troubles_.call_failed(RedisFailure::kTimedOut, 1, now - (i - 1) * 1us);
    }
  }
  bool is_closed() const { return troubles_.breaker().closed(); }
  std::uint64_t count(RedisFailure failure) const {
    return counts_[static_cast<std::size_t>(failure)];
  }

  ManualReactor reactor_;
  Journal journal_;
  FailureCounts counts_{};
  int probes_ = 0;
  RedisTroubles troubles_{Breaker(7), reactor_, journal_, counts_, [this](Instant) {
                            troubles_.take_probe();
                            ++probes_;
                          }};
};

TEST_F(RedisTroublesTest, CountsEachAndNamesAKindWhenItHasBeenQuietForAMinute) {
  for (const Duration at : {0s, 1s, 59s, 118s, 178s}) {
    troubles_.note(RedisFailure::kBusy, "a script", kStart + at);
  }
  EXPECT_EQ(journal_.text, "busy(a script) busy(a script) ");
  EXPECT_EQ(count(RedisFailure::kBusy), 5u);
  troubles_.note(RedisFailure::kReadOnly, {}, kStart + 178s);
  EXPECT_EQ(journal_.text, "busy(a script) busy(a script) read_only() ");
  EXPECT_EQ(count(RedisFailure::kReadOnly), 1u);
}

TEST_F(RedisTroublesTest, WhatWasNotAskedIsCountedAndNeverNamed) {
  troubles_.note(RedisFailure::kNotAsked, {}, kStart);
  EXPECT_EQ(count(RedisFailure::kNotAsked), 1u);
  EXPECT_EQ(journal_.text, "");
}

TEST_F(RedisTroublesTest, TellsOnceThatTheBreakerOpensAndOnceThatItCloses) {
  open(kStart);
  troubles_.call_failed(RedisFailure::kTimedOut, 1, kStart);
  EXPECT_FALSE(is_closed());
  EXPECT_EQ(journal_.text, "breaker ");
  troubles_.answered(kStart + 1ms);
  troubles_.answered(kStart + 1ms);
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(journal_.text, "breaker breaker ");
}

TEST_F(RedisTroublesTest, CallsThatTimeOutTogetherAreOneFailure) {
  for (int round = 1; round < Breaker::kFailuresMax; ++round) {
    for (int i = 0; i < 9; ++i) {
      troubles_.call_failed(RedisFailure::kTimedOut, 1, kStart + round * 1ms);
    }
  }
  EXPECT_TRUE(is_closed());
  troubles_.call_failed(RedisFailure::kTimedOut, 1, kStart + 9ms);
  EXPECT_FALSE(is_closed());
}

TEST_F(RedisTroublesTest, WhatConcernsOneKeyOnlyDoesNotOpenTheBreaker) {
  for (int i = 0; i < 2 * Breaker::kFailuresMax; ++i) {
    troubles_.call_failed(RedisFailure::kForeignType, 1, kStart);
  }
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(reactor_.next(), Instant::max());
}

TEST_F(RedisTroublesTest, ProbesUntilOneIsAnswered) {
  open(kStart);
  for (int probe = 1; probe <= 3; ++probe) {
    const Instant at = troubles_.breaker().probe_at();
    EXPECT_EQ(reactor_.next(), at);
    reactor_.run(at);
    EXPECT_EQ(probes_, probe);
    EXPECT_EQ(reactor_.next(), Instant::max());  // one at a time
    if (probe < 3) troubles_.probe_failed(RedisFailure::kReadOnly, at);
  }
  troubles_.answered(kStart + 3s);
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(reactor_.next(), Instant::max());
}

TEST_F(RedisTroublesTest, ACallThatIsAnsweredLateSparesTheProbe) {
  open(kStart);
  const Instant at = troubles_.breaker().probe_at();
  troubles_.answered(kStart + 1ms);
  reactor_.run(at);
  EXPECT_EQ(probes_, 0);
}

TEST_F(RedisTroublesTest, AProbeThatFailsAfterTheBreakerHasClosedCountsAsACall) {
  open(kStart);
  reactor_.run(troubles_.breaker().probe_at());
  troubles_.answered(kStart + 1s);
  for (int i = 1; i < Breaker::kFailuresMax; ++i) {
    troubles_.call_failed(RedisFailure::kTimedOut, 1, kStart + 1s - i * 1us);
  }
  EXPECT_TRUE(is_closed());
  troubles_.probe_failed(RedisFailure::kTimedOut, kStart + 1s);
  EXPECT_FALSE(is_closed());
}

TEST_F(RedisTroublesTest, EachProbeIsOfAnotherKey) {
  EXPECT_NE(troubles_.take_probe().key, troubles_.take_probe().key);
}

}  // namespace
}  // namespace weir
