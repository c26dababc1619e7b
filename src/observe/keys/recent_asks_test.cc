#include "observe/keys/recent_asks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/prng.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);
constexpr std::size_t kMost = 1'000'000;

void add(CoreRecentAsks& core, const RecentAsk& ask) {
  if (core.wants(ask.key)) core.add(ask);
}

// Keeps all that was asked, next to what two cores remember.
class RecentAsksTest : public testing::Test {
 protected:
  // Asks of random keys and two rules: `rate` a second over `span`.
  void ask(double rate, Duration span) {
    const Instant end = now_ + span;
    while (now_ < end) {
      now_ += Duration{static_cast<std::int64_t>(random_.below(2'000'000) / rate) + 1};
      const std::uint64_t key = (random_.below(500) + 1) * 0x9e3779b97f4a7c15U;
      const RecentAsk ask{.key = key ^ (key >> 29),
                          .rule = static_cast<std::uint16_t>(random_.below(2)),
                          .cost = static_cast<std::int64_t>(random_.below(9)) + 1,
                          .at = now_};
      asked_.push_back(ask);
      add(asks_.core(random_.below(2)), ask);
    }
  }

  // Counts again: all asks of one of 2^shift keys must be there, and no others.
  RecentAsks::Found found(Duration span, std::size_t most = kMost) {
    auto found = asks_.of(1, now_ - span, most, now_);
    std::vector<RecentAsk> wanted;
    for (const RecentAsk& ask : asked_) {
      const bool is_kept = ask.key % (std::uint64_t{1} << found.shift) == 0;
      if (ask.rule == 1 && is_kept && (found.are_all || ask.at > found.since)) {
        wanted.push_back(ask);
      }
    }
    EXPECT_TRUE(std::ranges::equal(found.asks, wanted,
                                   [](const auto& one, const auto& other) {
                                     return one.key == other.key && one.at == other.at &&
                                            one.cost == other.cost;
                                   }))
        << found.asks.size() << " of " << wanted.size() << ", shift " << found.shift;
    return found;
  }

  Prng random_{7};
  Instant now_ = kStart;
  RecentAsks asks_{RecentAsks::kBytesMin, 2, kStart};  // 16,384 asks a core
  std::vector<RecentAsk> asked_;
};

TEST_F(RecentAsksTest, AreAllThereWhileThereIsRoom) {
  ask(10, 5min);
  const auto found = this->found(1min);
  EXPECT_TRUE(found.are_all);
  EXPECT_EQ(found.shift, 0u);
  EXPECT_EQ(found.since, kStart);
}

TEST_F(RecentAsksTest, AreOfFewerKeysWhenThereAreMoreButEachKeyIsWhole) {
  for (const double rate : {50, 1'000, 20, 3'000, 400, 5}) {
    ask(rate, 4min);
    const auto found = this->found(1min);
    EXPECT_LE(found.asks.size(), 2u * 16'384);
    EXPECT_LE(found.since, now_ - 1min) << rate;
  }
}

TEST_F(RecentAsksTest, ReachBackTenMinutesAtAnyRate) {
  ask(2'000, 20min);
  const auto found = this->found(1min);
  EXPECT_GE(found.shift, 5u);
  EXPECT_LE(found.shift, 7u);
  EXPECT_LE(found.since, now_ - 10min);
}

TEST_F(RecentAsksTest, AreOfMoreKeysAgainWhenTheTrafficIsOver) {
  ask(2'000, 5min);
  const unsigned most = found(1min).shift;
  ask(5, 60min);
  EXPECT_LT(found(1min).shift, most - 2);
  EXPECT_EQ(found(61min).shift, most) << "nobody knows more of then";
}

TEST_F(RecentAsksTest, AreOfFewerKeysIfSomebodyWantsFewer) {
  ask(50, 2min);
  EXPECT_EQ(found(1min).shift, 0u);
  const auto fewer = found(1min, 1'000);
  EXPECT_LE(fewer.asks.size(), 1'000u);
  EXPECT_GT(fewer.asks.size(), 100u);
  EXPECT_TRUE(fewer.are_all);
}

TEST_F(RecentAsksTest, OfTheFutureAreNotThere) {
  ask(10, 1min);
  EXPECT_TRUE(asks_.of(1, kStart, kMost, kStart).asks.empty());
}

TEST_F(RecentAsksTest, OfOneKeyAloneAreLeftOutTogether) {
  for (int i = 0; i < 100'000; ++i) {
    add(asks_.core(0), {.key = 1, .rule = 1, .cost = 1, .at = now_ += 1ms});
  }
  const auto found = asks_.of(1, now_ - 1s, kMost, now_);
  EXPECT_GT(found.shift, 0u);
  EXPECT_TRUE(found.asks.empty());
}

TEST(RecentAsksThreads, AReaderSeesWholeAsksInTheirOrderWhileACoreWrites) {
  RecentAsks asks(RecentAsks::kBytesMin, 1, kStart);
  constexpr std::int64_t kCount = 2'000'000;
  std::jthread writer([&] {
    for (std::int64_t i = 1; i <= kCount; ++i) {
      // The bits that decide whether a key is kept are all 0.
      const auto key = static_cast<std::uint64_t>(i) << 41;
      asks.core(0).add({.key = key, .rule = 1, .cost = i, .at = kStart + Duration{i}});
    }
  });
  std::int64_t last = 0;
  while (last < kCount) {
    const auto found = asks.of(1, kStart, kMost, kStart + Duration{kCount});
    std::int64_t before = 0;
    for (const RecentAsk& ask : found.asks) {
      ASSERT_EQ(ask.key, static_cast<std::uint64_t>(ask.cost) << 41);
      ASSERT_EQ(ask.at, kStart + Duration{ask.cost});
      ASSERT_TRUE(before == 0 || ask.cost == before + 1) << "none is missing in between";
      before = ask.cost;
    }
    if (before == 0) continue;
    ASSERT_GE(before, last);
    last = before;
  }
}

}  // namespace
}  // namespace weir
