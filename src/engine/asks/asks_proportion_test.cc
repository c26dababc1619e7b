// Asks of proportional rules, on this node. tests/redis/async_share_test.cc: on several nodes.

#include "engine/asks/asks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "engine/testing/asks_fixture.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

Rule proportional(Algorithm algorithm, std::int64_t limit, Duration window = 1s) {
  Rule rule{.id = "r",
            .quota = *Quota::make({.algorithm = algorithm, .limit = limit, .window = window})};
  rule.is_proportional = true;
  return rule;
}

constexpr std::array kAlgorithms = {Algorithm::kFixedWindow, Algorithm::kSlidingWindow};

class AsksProportion : public AsksFixture {
 protected:
  bool passes(const Rule& rule, std::int64_t cost = 1) {
    asks_.begin(Operation::kSpendEach);
    asks_.add({.rule = &rule, .key = "a", .cost = cost});
    EXPECT_EQ(asks_.decide(now_), Asks::Progress::kAnswered);
    return asks_.answer(0).allowed();
  }
  // Offers requests evenly over time; returns how many pass.
  std::int64_t offer(const Rule& rule, std::int64_t count, Duration time) {
    const Instant begun = now_;
    std::int64_t passed = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      now_ = begun + time * i / count;
      passed += passes(rule) ? 1 : 0;
    }
    now_ = begun + time;
    return passed;
  }
};

TEST_F(AsksProportion, TenSecondsAfterASixteenfoldStepAreWithinTwoPercent) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const Duration phase : {0ms, 130ms, 500ms, 990ms}) {
      Rule rule = proportional(algorithm, 625);
      rule.id += std::to_string(phase.count());
      now_ = kStart + (now_ - kStart) / 1s * 1s + 10s;
      offer(rule, 625 * 3, 3s);
      offer(rule, 625 * phase / 1s, phase);
      const std::int64_t passed = offer(rule, 100'000, 10s);
      EXPECT_NEAR(static_cast<double>(passed), 6250, 125)
          << algorithm_name(algorithm) << " " << phase.count();
    }
  }
}

// A plain fixed window would admit 625 in the first sixteenth of each window.
TEST_F(AsksProportion, WhatPassesIsSpreadEvenly) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Rule rule = proportional(algorithm, 625);
    now_ += 10s;
    offer(rule, 20'000, 2s);
    for (int tenth = 0; tenth < 20; ++tenth) {
      EXPECT_NEAR(static_cast<double>(offer(rule, 1000, 100ms)), 62.5, 2) << tenth;
    }
  }
}

TEST_F(AsksProportion, TheShareIsWhatIsAboveTheLimit) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const double times : {1.05, 1.5, 4.0, 40.0}) {
      const Rule rule = proportional(algorithm, 200);
      now_ += 10s;
      const auto each = static_cast<std::int64_t>(200 * times);
      offer(rule, 3 * each, 3s);
      EXPECT_NEAR(static_cast<double>(offer(rule, 5 * each, 5s)), 1000, 20) << times;
    }
  }
}

// At so low a limit, a sliding window's two counters admit 80 of 100 to a client that always asks.
TEST_F(AsksProportion, ASmallLimitIsUsedUpAsFarAsTheAlgorithmLets) {
  for (const Algorithm algorithm : kAlgorithms) {
    Rule rule = proportional(algorithm, 5, 1min);
    now_ += 1h;
    offer(rule, 160, 2min);
    const std::int64_t passed = offer(rule, 1600, 20min);
    rule.is_proportional = false;
    now_ += 1h;
    offer(rule, 160, 2min);
    EXPECT_NEAR(static_cast<double>(passed), static_cast<double>(offer(rule, 1600, 20min)), 1);
  }
}

TEST_F(AsksProportion, BelowTheLimitNothingIsDropped) {
  const Rule rule = proportional(Algorithm::kSlidingWindow, 100);
  EXPECT_EQ(offer(rule, 980, 10s), 980);
  now_ += 10s;
  EXPECT_EQ(offer(rule, 100, 1ms), 100) << "at once";
}

// Counts again from lists of what came, without Weir's state.
struct Recount {
  using Units = std::map<std::int64_t, std::int64_t>;  // by the number of the window

  const Quota& quota;
  Units offered{};
  Units admitted{};
  double credit = 0;

  static std::int64_t at(const Units& units, std::int64_t index) {
    const auto found = units.find(index);
    return found == units.end() ? 0 : found->second;
  }
  std::int64_t last_window(const Units& units, std::int64_t now) const {
    const std::int64_t window = quota.window().count();
    const std::int64_t weighted = at(units, now / window - 1) * (window - now % window);
    return at(units, now / window) + (weighted + window - 1) / window;
  }
  bool fits(std::int64_t cost, std::int64_t now) const {
    const bool is_fixed = quota.algorithm() == Algorithm::kFixedWindow;
    const std::int64_t held =
        is_fixed ? at(admitted, now / quota.window().count()) : last_window(admitted, now);
    return held + cost <= quota.limit();
  }
  bool passes(std::int64_t cost, std::int64_t now) {
    offered[now / quota.window().count()] += cost;
    const std::int64_t actual = std::min(last_window(offered, now), kOfferedMax * quota.limit());
    const auto units = static_cast<double>(cost);
    const bool is_above = actual > quota.limit();
    if (is_above) {
      credit += static_cast<double>(quota.limit()) / static_cast<double>(actual) * units;
      if (credit < units / 2) return false;
      credit -= units;
    }
    const bool passes = fits(cost, now);
    if (is_above && !passes) credit = std::min(credit + units, units);
    return passes;
  }
};

// For any requests at any time.
TEST_F(AsksProportion, EqualsARecountAndAdmitsNoMoreThanTheAlgorithm) {
  Prng random(31);
  const auto below = [&](std::int64_t bound) {
    return std::int64_t{random.below(static_cast<std::uint32_t>(bound))};
  };
  std::int64_t dropped = 0;
  for (int run = 0; run < 200; ++run) {
    const std::int64_t limit = 3 + below(200);  // first: compilers order arguments differently
    Rule rule = proportional(kAlgorithms[static_cast<std::size_t>(run % 2)], limit,
                             1ms * (1 + below(2000)));
    rule.id += std::to_string(run);
    engine_.pass_credits() = {};  // else the key may share that of an earlier run
    Recount recount{rule.quota};
    std::int64_t gap_us = 1;
    for (int i = 0; i < 500; ++i) {
      if (i % 50 == 0) {  // another rate, from none to 30 times the limit
        const std::int64_t each_us = rule.quota.window().count() / rule.quota.limit();
        gap_us =
            below(10) == 0 ? rule.quota.window().count() : below(2 * each_us + 2) / (1 + below(30));
      }
      now_ += Duration{below(2 * gap_us + 1)};
      const std::int64_t cost = 1 + below(run % 3 == 0 ? 3 : 1);
      const std::int64_t now = epoch_us(now_);
      const bool fits = recount.fits(cost, now);
      const bool passed = passes(rule, cost);
      ASSERT_EQ(passed, recount.passes(cost, now)) << run << " " << i;
      ASSERT_TRUE(fits || !passed);
      if (passed) recount.admitted[now / rule.quota.window().count()] += cost;
      dropped += fits && !passed ? 1 : 0;
    }
  }
  EXPECT_GT(dropped, 1000) << "else this says nothing";
}

TEST_F(AsksProportion, WhoWaitsAsToldPasses) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Rule rule = proportional(algorithm, 50);
    for (const std::int64_t times : {2, 7, 50, 100}) {
      now_ += 10s;
      offer(rule, 100 * times, 1730ms);
      while (passes(rule, 3)) now_ += 1us;
      const Decision said = asks_.answer(0).decision;
      EXPECT_EQ(said.remaining, 0);
      EXPECT_EQ(said.limit, 50);
      EXPECT_LE(said.more_after, said.retry_after);
      EXPECT_LE(said.retry_after, said.reset_after);
      now_ += said.retry_after;
      EXPECT_TRUE(passes(rule, 3)) << algorithm_name(algorithm) << " " << times;
    }
  }
}

TEST_F(AsksProportion, WhatIsDroppedChargesNoOtherRule) {
  const Rule rule = proportional(Algorithm::kSlidingWindow, 100);
  Rule other{.id = "other", .quota = *Quota::make({.limit = 100'000, .window = 1h})};
  std::int64_t passed = 0;
  for (int i = 0; i < 4000; ++i) {
    now_ += 1ms;
    const auto said =
        decide(Operation::kSpendAll, {{.rule = &rule, .key = "a"}, {.rule = &other, .key = "a"}});
    passed += said.starts_with("+") ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(passed), 400, 12);
  EXPECT_EQ(decide(Operation::kLook, {{.rule = &other, .key = "a", .cost = 0}}),
            "+" + std::to_string(100'000 - passed) + " ");
}

TEST_F(AsksProportion, WhatAnotherRuleDeniesTakesNoCredit) {
  const Rule rule = proportional(Algorithm::kFixedWindow, 100);
  const Rule denies{.id = "none", .quota = *Quota::make({.limit = 0, .window = 1h})};
  offer(rule, 2000, 2s);
  for (int i = 0; i < 1000; ++i) {  // more than may pass in a window
    decide(Operation::kSpendAll, {{.rule = &rule, .key = "a"}, {.rule = &denies, .key = "a"}});
  }
  EXPECT_TRUE(passes(rule)) << "its turn has come, and stays";
}

TEST_F(AsksProportion, ALookSeesWhatIsOfferedAndChangesNothing) {
  const Rule rule = proportional(Algorithm::kSlidingWindow, 100);
  offer(rule, 3200, 2s);
  for (int i = 0; i < 50; ++i) decide(Operation::kLook, {{.rule = &rule, .key = "a", .cost = 0}});
  EXPECT_EQ(asks_.answer(0).offered, 1600);
}

TEST_F(AsksProportion, AResetForgetsWhatWasOffered) {
  const Rule rule = proportional(Algorithm::kSlidingWindow, 100);
  offer(rule, 3200, 2s);
  decide(Operation::kReset, {{.rule = &rule, .key = "a", .cost = 0}});
  EXPECT_EQ(offer(rule, 100, 1ms), 100);
}

TEST_F(AsksProportion, ACostThatAlwaysCountsIsNeverDropped) {
  const Rule rule = proportional(Algorithm::kSlidingWindow, 100);
  const auto charge = [&] {
    return decide(Operation::kSpendEach,
                  {{.rule = &rule, .key = "a", .counting = Ask::Counting::kAlways}});
  };
  for (int i = 0; i < 100; ++i) charge();
  EXPECT_EQ(hit(rule), "-0 ");
  charge();
  EXPECT_EQ(asks_.answer(0).offered, 102) << "it is offered, too";
}

TEST_F(AsksProportion, WhatIsDroppedIsADenialInTheFigures) {
  const std::int64_t passed = offer(proportional(Algorithm::kFixedWindow, 10), 640, 4s);
  EXPECT_EQ(traffic_.summary(now_).total_denied(), static_cast<std::uint64_t>(640 - passed));
}

}  // namespace
}  // namespace weir
